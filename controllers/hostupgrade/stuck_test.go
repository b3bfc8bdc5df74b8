// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/kinds"
)

// stuck is what never ends by itself, at one of the steps that wait for others.
type stuck struct {
	step   string
	impose func(ctx context.Context, w *world)
	// begins is what happens to it when the attempt waits for it; may be nil.
	begins func(ctx context.Context, w *world)
	// says are parts of the message, once it has waited for too long: the object, and the command that clears it.
	says []string
	// phase that a cancel ends it in.
	phase infrav1.UpgradePhase
}

const cancels = `or end the wait with kubectl --namespace NAMESPACE patch ehu upgrade-a --type merge --patch '{"spec":{"cancel":true}}'`

// keep gives an object a finalizer that nothing removes.
func keep(ctx context.Context, object client.Object) {
	GinkgoHelper()
	set := func(ctx context.Context, finalizers string) error {
		return live.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`)))
	}
	Expect(set(ctx, `["example.com/kept"]`)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) error { return client.IgnoreNotFound(set(ctx, "null")) })
}

// startVM makes a virtual machine that hangs in its start on the world's Node: KubeVirt has named no Node for it yet.
func startVM(ctx context.Context, w *world) {
	GinkgoHelper()
	addVM(ctx, w)
	instance := get(ctx, w, "db", &kubevirtv1.VirtualMachineInstance{})
	instance.Labels, instance.Status = nil, kubevirtv1.VirtualMachineInstanceStatus{Phase: kubevirtv1.Scheduling}
	Expect(live.Update(ctx, instance)).To(Succeed())
	launcher := &corev1.Pod{ObjectMeta: w.meta("launcher"), Spec: corev1.PodSpec{
		NodeName: w.host, Containers: []corev1.Container{{Name: "compute", Image: "registry.test/launcher"}},
	}}
	launcher.Labels = map[string]string{kubevirtv1.AppLabel: "virt-launcher", kubevirtv1.CreatedByLabel: string(instance.UID)}
	launcher.Annotations = map[string]string{kubevirtv1.DomainAnnotation: instance.Name}
	Expect(live.Create(ctx, launcher)).To(Succeed())
}

// admitNext leads another attempt of the cluster to the slot.
func admitNext(ctx context.Context, w *world) {
	GinkgoHelper()
	const name, enough = "upgrade-z", 40
	host := w.namespace + "-z"
	w.addWorker(ctx, host)
	w.addUpgrade(ctx, name, host, infrav1.NodeUpgradeOption{})
	next := newAgent(w, host)
	holds := func() bool {
		slots := get(ctx, w, clusterName, &infrav1.ElementalCluster{}).Status.UpgradeSlots
		return len(slots) == 1 && slots[0].Upgrade == name
	}
	for round := 0; !holds(); round++ {
		Expect(round).To(BeNumerically("<", enough), get(ctx, w, name, &infrav1.ElementalHostUpgrade{}).Status.Message)
		_, _ = w.reconcileNamed(ctx, name)
		next.tick(ctx)
		w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
	}
}

var _ = Describe("What never ends by itself", Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx SpecContext) {
		Expect(kinds.Install(ctx, live)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) error { return kinds.Uninstall(ctx, live) })
	})

	DescribeTable("is named with what clears it, and holds no other node once a user has given it up", func(ctx SpecContext, s stuck) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		s.impose(ctx, w)
		w.drive(ctx, w.isAt(ctx, s.step))
		if s.begins != nil {
			s.begins(ctx, w)
		}
		w.drive(ctx, nil)
		Expect(w.status(ctx)).To(And(HaveField("Phase", infrav1.UpgradeProgressing), HaveField("Step", s.step)))
		w.clock.SetTime(w.clock.Now().Add(2 * time.Hour)) // when all that was deleted before was to be gone
		w.drive(ctx, nil)
		Expect(w.status(ctx).Step).To(Equal(s.step), "a time-out ends nothing")
		for _, part := range append(s.says, "(for longer than ", cancels) {
			Expect(w.status(ctx).Message).To(ContainSubstring(w.inWords(part)))
		}

		cancel(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(And(HaveField("Phase", s.phase), HaveField("Unschedulable", false), HaveField("CordonedBy", ""), HaveField("Slots", 0)))
		setNode(ctx, w.host, get(ctx, w, w.host, &infrav1.ElementalHost{}).Status.OS.BootID, corev1.ConditionTrue, w.clock.Now())
		admitNext(ctx, w)
	},
		Entry("a virtual machine that hangs in its start", stuck{
			step: "EvacuateVMs", impose: startVM, phase: infrav1.UpgradeAborted,
			says: []string{
				"VirtualMachineInstance NAMESPACE/db is not running yet: it is Scheduling, and its Pod launcher is Pending",
				"kubectl --namespace NAMESPACE label --overwrite vm db " + infrav1.VMPolicyLabel + "=ShutdownAndRestore",
			},
		}),
		Entry("a virtual machine that cannot leave", stuck{
			step: "EvacuateVMs", impose: addVM, phase: infrav1.UpgradeAborted, says: []string{isLocal, "migrate or stop what is left"},
		}),
		Entry("a PodDisruptionBudget that allows nothing", stuck{
			step: "Drain", impose: guardPod, phase: infrav1.UpgradeAborted,
			says: []string{"PodDisruptionBudget NAMESPACE/web allows no eviction of Pod NAMESPACE/web", "relax its PodDisruptionBudget"},
		}),
		Entry("a Pod with a finalizer", stuck{
			step: "Drain", phase: infrav1.UpgradeAborted,
			impose: func(ctx context.Context, w *world) { keep(ctx, addPod(ctx, w, "web")) },
			says:   []string{"Pod NAMESPACE/web is kept by finalizers example.com/kept", "kubectl --namespace NAMESPACE patch pod web "},
		}),
		Entry("a Pod on a kubelet that does not answer any more", stuck{
			step: "Drain", phase: infrav1.UpgradeAborted,
			impose: guardPod,
			begins: func(ctx context.Context, w *world) {
				setNode(ctx, w.host, "boot-1", corev1.ConditionUnknown, w.clock.Now())
				Expect(live.Delete(ctx, &corev1.Pod{ObjectMeta: w.meta("web")}, client.GracePeriodSeconds(30))).To(Succeed())
			},
			says: []string{"the kubelet of Node HOST does not answer", "kubectl --namespace NAMESPACE delete pod web --grace-period 0 --force"},
		}),
		Entry("a volume whose CSI driver is gone", stuck{
			step: "DetachVolumes", impose: attachVolume, phase: infrav1.UpgradeAborted,
			begins: func(ctx context.Context, w *world) {
				attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-pv-1"}}
				keep(ctx, attachment)
				Expect(live.Delete(ctx, attachment)).To(Succeed())
			},
			says: []string{"pv-1 (CSI driver csi.test does not detach it", "kubectl patch volumeattachment NAMESPACE-pv-1 "},
		}),
		Entry("a volume that cannot be attached again", stuck{
			step: "Settle", impose: failAttachment, phase: infrav1.UpgradeSucceeded,
			says: []string{"pv-2 (attaching it fails)", "kubectl describe volumeattachments"},
		}),
	)

	It("is not given up at Settle before its time, and then ends as what the host runs", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		failAttachment(ctx, w)
		w.drive(ctx, w.isAt(ctx, "Settle"))
		cancel(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeProgressing))
		Expect(w.status(ctx).Message).To(HaveSuffix("(spec.cancel ends this once it has taken 1h0m0s)"))
		w.clock.SetTime(w.clock.Now().Add(61 * time.Minute))
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.status(ctx).Message).To(Equal(w.inWords("Node HOST runs " + newImage +
			" (spec.cancel has ended: waiting for volumes to be attached to Node HOST: pv-2 (attaching it fails))")))
	})

	It("keeps no slot where a virtual machine cannot be started again at the end", func(ctx SpecContext) {
		w := newWorld(ctx, byVMPolicy(infrav1.VMPolicyShutdownAndRestore))
		addVM(ctx, w)
		guardPod(ctx, w)
		w.driveVMs(ctx, w.isAt(ctx, "Drain"))
		change(ctx, w, "db", &kubevirtv1.VirtualMachine{}, func(vm *kubevirtv1.VirtualMachine) {
			vm.Annotations[infrav1.VMPowerStateAnnotation] = "not a record for " + w.host
		})
		cancel(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeProgressing))
		Expect(w.status(ctx).Message).To(ContainSubstring(w.inWords("VirtualMachine NAMESPACE/db has an annotation")))
		Expect(w.marks(ctx)).To(And(HaveField("Unschedulable", false), HaveField("CordonedBy", ""), HaveField("Slots", 0)))
		admitNext(ctx, w)

		change(ctx, w, "db", &kubevirtv1.VirtualMachine{}, func(vm *kubevirtv1.VirtualMachine) {
			delete(vm.Annotations, infrav1.VMPowerStateAnnotation)
			delete(vm.Labels, infrav1.VMStoppedLabel)
		})
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeAborted))
	})

	It("is no volume of a Pod that stays, whichever way the Pod names its claim", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		attachVolume(ctx, w)
		oneGi := resource.MustParse("1Gi")
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-1"}, Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: oneGi}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			ClaimRef:               &corev1.ObjectReference{Namespace: w.namespace, Name: "log-data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.test", VolumeHandle: "pv-1"}},
		}}
		Expect(live.Create(ctx, volume)).To(Succeed())
		keep(ctx, volume) // and lets it go afterwards
		pod := &corev1.Pod{ObjectMeta: w.meta("log"), Spec: corev1.PodSpec{
			NodeName: w.host, Containers: []corev1.Container{{Name: "main", Image: "registry.test/log"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
				VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: oneGi}},
				}},
			}}}},
		}}
		pod.Labels = map[string]string{clusterv1.PodDrainLabel: "skip"}
		Expect(live.Create(ctx, pod)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})
})
