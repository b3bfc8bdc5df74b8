// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts/attemptstest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/kinds"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
)

var _ = Describe("Read", Ordered, func() {
	const namespace = "default"
	var (
		live   client.Client
		reader Reader
		now    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	)
	BeforeAll(func() { live = apiserver.NewIndexed(apiserver.StartForSuite().Client, clusterview.AddIndexes) })

	create := func(ctx SpecContext, objects ...client.Object) {
		GinkgoHelper()
		for _, object := range objects {
			Expect(live.Create(ctx, object)).To(Succeed())
		}
	}
	// read as a reader that has found KubeVirt absent at "now" does, that long after.
	read := func(ctx SpecContext, after time.Duration) *Snapshot {
		GinkgoHelper()
		s, err := reader.Read(ctx, Sources{
			View: clusterview.New(live, client.ObjectKeyFromObject(clusterOf(namespace))), Workload: workload.New(live, live).With(kubevirt.Resident{}, longhorn.Resident{}), Now: now.Add(after),
			Cluster: clusterOf(namespace),
		})
		Expect(err).NotTo(HaveOccurred())
		return s
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }

	It("finds nothing of what is not installed", func(ctx SpecContext) {
		s := read(ctx, 0)
		Expect(s.States).To(BeEmpty())
		Expect(s.Jobs).To(BeEmpty())
		Expect(s.Foreign).To(BeEmpty())
	})

	It("finds the attempts that have cordoned nodes, but none of other clusters", func(ctx SpecContext) {
		for _, name := range []string{"c", "other"} {
			create(ctx, attemptstest.New(namespace, "of-"+name, name, "h", "i"), attemptstest.New(namespace, "idle-"+name, name, "h", "i"), &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "cordoned-" + name, Annotations: map[string]string{infrav1.CordonedByAnnotation: "of-" + name + "/1"}},
				Spec:       corev1.NodeSpec{Unschedulable: true},
			})
		}
		s := read(ctx, 0)
		Expect(s.Attempts).To(HaveExactElements(HaveField("Name", "of-c")))
		Expect(s.attempt("of-c")).NotTo(BeNil())
	})

	It("finds how long the last upgrades of a small control plane took, and of no other host", func(ctx SpecContext) {
		ended := metav1.NewTime(now.Add(time.Minute))
		for name, labels := range map[string]map[string]string{
			"plane": {clusterv1.MachineControlPlaneLabel: ""}, "hostless": {clusterv1.MachineControlPlaneLabel: ""}, "worker": {},
		} {
			labels[clusterv1.ClusterNameLabel] = "c"
			machine := &clusterv1.Machine{ObjectMeta: meta(name), Spec: clusterv1.MachineSpec{
				ClusterName: "c", Bootstrap: clusterv1.Bootstrap{DataSecretName: new("b")}, InfrastructureRef: ownertest.Reference("ElementalMachine", name),
			}}
			host := &infrav1.ElementalHost{ObjectMeta: meta(name)}
			machine.Labels, host.Labels, host.Spec.MachineRef = labels, labels, &infrav1.LocalReference{Name: name}
			former := attemptstest.New(namespace, "former-"+name, "c", name, "i")
			create(ctx, machine, former)
			former.Status.Steps = []infrav1.UpgradeStepStatus{
				{Name: attempts.StepReboot, StartTime: metav1.NewTime(now)}, {Name: attempts.StepAssess, StartTime: ended, CompletionTime: &ended},
			}
			Expect(live.Status().Update(ctx, former)).To(Succeed())
			if name != "hostless" {
				create(ctx, host)
			}
			DeferCleanup(func(ctx SpecContext) {
				for _, object := range []client.Object{machine, host, former} {
					Expect(client.IgnoreNotFound(live.Delete(ctx, object))).To(Succeed())
				}
			})
		}
		Expect(read(ctx, 0).Outages).To(Equal(map[string]time.Duration{"plane": time.Minute}))
	})

	It("asks again for KubeVirt half a minute after it was not there, and when the clock was set back", func(ctx SpecContext) {
		Expect(kinds.Install(ctx, live)).To(Succeed())
		create(ctx, &kubevirtv1.KubeVirt{ObjectMeta: meta("kubevirt")})
		Expect(virtOf(read(ctx, absentFor-time.Second))).To(BeNil())
		Expect(virtOf(read(ctx, absentFor))).NotTo(BeNil())
		Expect(virtOf(read(ctx, -time.Second))).NotTo(BeNil())
	})

	It("tells that nothing of KubeVirt but its object is there", func(ctx SpecContext) {
		found := virtOf(read(ctx, absentFor))
		Expect(found.API).To(Equal("is not there"))
		Expect(found.Interceptor).To(BeFalse())
		Expect(found.Handlers).To(BeEmpty())
	})

	It("reads what there is of KubeVirt", func(ctx SpecContext) {
		create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "virt-api-validator"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "virt-launcher-eviction-interceptor.kubevirt.io", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
				ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1")},
			}}})
		makeHandler(ctx, live, "old", "n", corev1.ConditionFalse)
		makeHandler(ctx, live, "new", "n", corev1.ConditionTrue)
		makeHandler(ctx, live, "x", "o", corev1.ConditionFalse)
		vm := &kubevirtv1.VirtualMachineInstance{ObjectMeta: meta("vm")}
		vm.Labels = map[string]string{kubevirtv1.NodeNameLabel: "n"}
		create(ctx, vm)
		for name, phase := range map[string]kubevirtv1.VirtualMachineInstanceMigrationPhase{
			"b": kubevirtv1.MigrationRunning, "a": kubevirtv1.MigrationPending, "c": kubevirtv1.MigrationSucceeded,
		} {
			migration := &kubevirtv1.VirtualMachineInstanceMigration{ObjectMeta: meta(name)}
			create(ctx, migration)
			migration.Status.Phase = phase
			Expect(live.Status().Update(ctx, migration)).To(Succeed())
		}

		found := virtOf(read(ctx, absentFor))
		Expect(found.Interceptor).To(BeTrue())
		Expect(found.Handlers).To(Equal(map[string]bool{"n": true, "o": false}))
		Expect(found.Places).To(Equal(map[types.NamespacedName]string{{Namespace: namespace, Name: "vm"}: "n"}))
		Expect(found.On("n")).To(Equal(1))
		Expect(found.On("o")).To(BeZero())
		Expect(found.Migrations).To(HaveLen(2))
		Expect(found.Migrations[0].Name).To(Equal("a"))
	})

	It("believes the API server about virt-api", func(ctx SpecContext) {
		spec := map[string]any{
			"group": "subresources.kubevirt.io", "version": "v1", "groupPriorityMinimum": int64(1), "versionPriority": int64(1),
		}
		local := storage.New(apiServiceKind, "", "v1.subresources.kubevirt.io", map[string]any{"spec": maps.Clone(spec)})
		spec["service"] = map[string]any{"namespace": namespace, "name": "virt-api"}
		spec["insecureSkipTLSVerify"] = true
		service := storage.New(apiServiceKind, "", "v1.subresources.kubevirt.io", map[string]any{"spec": spec})
		create(ctx, service)
		Expect(virtOf(read(ctx, absentFor)).API).To(Equal("is not Available"), "its Service does not exist")

		Expect(live.Delete(ctx, service)).To(Succeed())
		create(ctx, local)
		Eventually(func() string { return virtOf(read(ctx, absentFor)).API }).Should(BeEmpty(), "the API server serves it itself")
	})

	It("reads Longhorn", func(ctx SpecContext) {
		Expect(storage.Install(ctx, live, storage.LonghornKinds()...)).To(Succeed())
		Expect(read(ctx, 2*absentFor).States).To(HaveKey("Longhorn"))
	})

	It("reads jobs, those of residents, too, but none that are done or being deleted", func(ctx SpecContext) {
		Expect(storage.Install(ctx, live, planKind, snapshotKind, storage.VolumeSnapshot)).To(Succeed())
		create(ctx, storage.New(storage.VolumeSnapshot, namespace, "daily", nil), storage.New(snapshotKind, namespace, "s", map[string]any{
			"spec": map[string]any{"source": map[string]any{"kind": "VirtualMachine", "name": "vm"}},
		}))
		leaving := plan("leaving", "n")
		leaving.SetFinalizers([]string{"test.example.com/keep"})
		create(ctx, plan("idle"), plan("b", "n"), plan("a", "n"), leaving)
		Expect(live.Delete(ctx, leaving)).To(Succeed())

		const doing = "system-upgrade-controller is changing nodes"
		s := read(ctx, 3*absentFor)
		Expect(s.Foreign).To(HaveExactElements(workload.Job{Object: "Plan/default/a", Doing: doing, Nodes: []string{"n"}}, workload.Job{Object: "Plan/default/b", Doing: doing, Nodes: []string{"n"}}))
		Expect(s.Jobs).To(HaveExactElements(
			workload.Job{Object: "VirtualMachineSnapshot/default/s", Doing: "a snapshot of a virtual machine is being taken", Nodes: []string{"n"}},
			workload.Job{Object: "VolumeSnapshot/default/daily", Doing: "a snapshot is being taken"}))
	})

	It("takes what was listed before while that is not too old, but for virt-api, and no Nodes from the cache that have to be live", func(ctx SpecContext) {
		const at, maxAge = 4 * absentFor, 5 * time.Second
		aged := func(after time.Duration, live client.Client, change func(*Sources)) *Snapshot {
			GinkgoHelper()
			from := Sources{View: clusterview.New(live, client.ObjectKeyFromObject(clusterOf(namespace))), Now: now.Add(at + after), MaxAge: maxAge, Cluster: clusterOf(namespace)}
			from.Workload = workload.New(live, live).With(kubevirt.Resident{}, longhorn.Resident{}).WithCache(noNodes{live})
			change(&from)
			s, err := reader.Read(ctx, from)
			Expect(err).NotTo(HaveOccurred())
			return s
		}
		first := aged(0, live, func(*Sources) {})
		Expect(first.Foreign).To(HaveLen(2))
		Expect(virtOf(first).API).To(BeEmpty())
		Expect(first.Nodes).To(BeEmpty())

		create(ctx, plan("c", "n"))
		Expect(live.Delete(ctx, storage.New(apiServiceKind, "", "v1.subresources.kubevirt.io", map[string]any{}))).To(Succeed())
		Eventually(func() string { return virtOf(aged(maxAge-1, live, func(*Sources) {})).API }).Should(Equal("is not there"))
		Expect(virtOf(first).API).To(BeEmpty(), "others may be looking at it")
		Expect(aged(maxAge-1, live, func(*Sources) {}).Foreign).To(HaveLen(2))
		Expect(aged(maxAge, live, func(*Sources) {}).Foreign).To(HaveLen(3))

		create(ctx, plan("d", "n"))
		Expect(aged(maxAge, live, func(from *Sources) { from.Cluster = clusterOf("other") }).Foreign).To(HaveLen(4), "of another Cluster")
		Expect(aged(maxAge, live, func(*Sources) {}).Foreign).To(HaveLen(3))
		Expect(aged(-1, live, func(*Sources) {}).Foreign).To(HaveLen(4), "the clock was set back")
		create(ctx, plan("e", "n"))
		Expect(aged(-1, live, func(from *Sources) { from.MaxAge = 0 }).Foreign).To(HaveLen(5))

		By("reading a control plane past all caches")
		create(ctx, controlPlaneMachine(meta("cp-1"), "c"), controlPlaneMachine(meta("cp-2"), "d"))
		etcd := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "etcd-n", Labels: map[string]string{tierLabel: tierValue, componentLabel: "etcd"},
				Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"}},
			Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "etcd", Image: "etcd"}}},
		}
		if err := live.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}}); !apierrors.IsAlreadyExists(err) {
			Expect(err).NotTo(HaveOccurred())
		}
		cloud := etcd.DeepCopy()
		cloud.Name, cloud.Annotations, cloud.Labels[componentLabel] = "cloud", nil, "cloud-controller-manager"
		create(ctx, etcd, cloud)
		s := aged(-1, live, func(from *Sources) { from.LiveControlPlane = live })
		Expect(s.Nodes).NotTo(BeEmpty())
		Expect(s.Machines).To(ContainElement(HaveField("Name", "cp-1")))
		Expect(s.Machines).NotTo(ContainElement(HaveField("Name", "cp-2")))
		Expect(s.stoppedOn("n")).To(HaveExactElements("etcd"))
	})

	It("forgets the clusters that nobody asks for any more", func(ctx SpecContext) {
		reader := &Reader{}
		for n, name := range []string{"a", "b", "c"} {
			_, err := reader.Read(ctx, Sources{
				View: clusterview.New(live, client.ObjectKeyFromObject(clusterOf(namespace))), Workload: workload.New(live, live).With(kubevirt.Resident{}, longhorn.Resident{}), Now: now.Add(time.Duration(n) * forgottenAfter / 2),
				Cluster: clusterOf(name),
			})
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(reader.recent.each).To(And(HaveLen(2), Not(HaveKey(client.ObjectKey{Namespace: "a", Name: "c"}))))
	})
})

// virtOf a snapshot; nil where KubeVirt is not installed.
func virtOf(s *Snapshot) *kubevirt.Installation {
	found, _ := s.States["KubeVirt"].(*kubevirt.Installation)
	return found
}

// noNodes is a cache that knows no Node.
type noNodes struct{ client.Reader }

func (n noNodes) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, isNodes := list.(*corev1.NodeList); isNodes {
		return nil
	}
	return n.Reader.List(ctx, list, options...)
}

func controlPlaneMachine(meta metav1.ObjectMeta, cluster string) *clusterv1.Machine {
	meta.Labels = map[string]string{clusterv1.ClusterNameLabel: cluster, clusterv1.MachineControlPlaneLabel: ""}
	return &clusterv1.Machine{ObjectMeta: meta, Spec: clusterv1.MachineSpec{
		ClusterName: cluster, Bootstrap: clusterv1.Bootstrap{DataSecretName: new("bootstrap")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachine", Name: meta.Name},
	}}
}

func clusterOf(namespace string) *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c"}}
}

var (
	snapshotKind   = schema.GroupVersionKind{Group: "snapshot.kubevirt.io", Version: "v1beta1", Kind: "VirtualMachineSnapshot"}
	planKind       = schema.GroupVersionKind{Group: "upgrade.cattle.io", Version: "v1", Kind: "Plan"}
	apiServiceKind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
)

// plan of system-upgrade-controller that is changing the nodes.
func plan(name string, nodes ...any) *unstructured.Unstructured {
	return storage.New(planKind, "default", name, map[string]any{"status": map[string]any{"applying": nodes}})
}

// makeHandler makes a Pod of virt-handler.
func makeHandler(ctx SpecContext, live client.Client, name, node string, ready corev1.ConditionStatus) {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{kubevirtv1.AppLabel: "virt-handler"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	Expect(live.Create(ctx, pod)).To(Succeed())
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: ready}}
	Expect(live.Status().Update(ctx, pod)).To(Succeed())
}
