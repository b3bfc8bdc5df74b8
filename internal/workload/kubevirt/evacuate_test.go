// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

var _ = Describe("An evacuation", func() {
	It("is done where nothing runs, after two calls", func(ctx SpecContext) {
		w := newWorld(ctx)
		Expect(w.evacuate(ctx)).To(Equal(kubevirt.Progress{Progress: workload.Progress{Done: true}}))
		Expect(w.calls).To(Equal(map[string]int{"list": 2}))
	})

	It("evicts each virtual machine once, and waits for it to leave", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		w.add(ctx, "b")
		progress := w.evacuate(ctx)
		Expect(progress.Message).To(Equal("waiting for 2 virtual machines to leave Node node-1"))
		Expect(progress.Held).To(BeFalse())
		Expect(w.instance(ctx, "a").Status.EvacuationNodeName).To(Equal(nodeOne))
		Expect(w.evacuate(ctx).Decisions).To(Equal(w.evacuate(ctx).Decisions), "they are decided as before")
		Expect(w.calls["evict"]).To(Equal(4), "one dry run and one eviction each")

		By("their leaving")
		w.leave(ctx, "a")
		Expect(w.evacuate(ctx).Message).To(Equal("waiting for 1 virtual machine to leave Node node-1"))
		w.leave(ctx, "b")
		Expect(w.evacuate(ctx).Done).To(BeTrue())
	})

	It("does nothing that it cannot look at", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		w.unlisted = errReset
		_, err := kubevirt.Evacuate(ctx, w.evacuation(ctx))
		Expect(err).To(MatchError(errReset))
		Expect(w.calls).To(Equal(map[string]int{"list": 1}))
	})

	It("evicts the launcher of a virtual machine, and not what else was made for it", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		disk := pod("z-hotplugged-disk", nodeOne, "1Mi")
		disk.Namespace, disk.Spec.Containers[0].Name, disk.Spec.Containers[0].Image = w.namespace, "disk", "registry.test/disk"
		disk.Labels = map[string]string{kubevirtv1.AppLabel: "hotplug-disk", kubevirtv1.CreatedByLabel: string(w.instance(ctx, "a").UID)}
		Expect(live.Create(ctx, &disk)).To(Succeed())
		w.evacuate(ctx)
		Expect(w.instance(ctx, "a").Status.EvacuationNodeName).To(Equal(nodeOne))
	})

	It("waits for a Pod that has not ended, and not for one that has", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		Expect(live.Delete(ctx, w.instance(ctx, "a"))).To(Succeed())
		Expect(w.evacuate(ctx).Message).To(Equal("waiting for the Pods of virtual machines to end: " + w.namespace + "/virt-launcher-a"))
		launcher := &corev1.Pod{}
		Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "virt-launcher-a"}, launcher)).To(Succeed())
		launcher.Status.Phase = corev1.PodSucceeded
		Expect(live.Status().Update(ctx, launcher)).To(Succeed())
		Expect(w.evacuate(ctx).Done).To(BeTrue())
	})

	It("evicts no more than a few in one pass", func(ctx SpecContext) {
		w := newWorld(ctx)
		for i := range 30 {
			w.add(ctx, fmt.Sprintf("vm-%d", i), vmi(func(v *kubevirtv1.VirtualMachineInstance) {
				v.Spec.EvictionStrategy = new(kubevirtv1.EvictionStrategyExternal)
			}))
		}
		Expect(w.evacuate(ctx).Left).To(Equal(30))
		Expect(w.calls["evict"]).To(Equal(50))
		w.evacuate(ctx)
		Expect(w.calls["evict"]).To(Equal(60))
		w.evacuate(ctx)
		Expect(w.calls["evict"]).To(Equal(60))
	})

	It("does not make an eviction that would stop the guest", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		w.answers = nil // there is no webhook
		progress := w.evacuate(ctx)
		Expect(progress.Held).To(BeTrue())
		Expect(progress.Message).To(HavePrefix("VirtualMachineInstance " + w.namespace + "/a is not evicted, because that would stop the guest"))
		Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "virt-launcher-a"}, &corev1.Pod{})).To(Succeed())
	})

	It("says which budget refuses an eviction", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		w.answers = func(bool, client.Object) error {
			refusal := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
			refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{
				Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget all needs 1 healthy pods and has 1 currently",
			})
			return refusal
		}
		progress := w.evacuate(ctx)
		Expect(progress.Held).To(BeTrue())
		Expect(progress.Message).To(Equal("VirtualMachineInstance " + w.namespace + "/a cannot be evicted: The disruption budget all needs 1 healthy pods and has 1 currently"))
		Expect(w.calls["evict"]).To(Equal(1), "the dry run says it")
	})

	It("tries first whether an eviction would stop the guest", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		var dryRuns []bool
		w.answers = func(dryRun bool, pod client.Object) error {
			dryRuns = append(dryRuns, dryRun)
			return w.markAndRefuse(dryRun, pod)
		}
		w.evacuate(ctx)
		Expect(dryRuns).To(Equal([]bool{true, false}))
	})

	It("evicts nothing of a virtual machine whose Pod is gone", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		Expect(live.Delete(ctx, &corev1.Pod{ObjectMeta: w.meta("virt-launcher-a")}, client.GracePeriodSeconds(0))).To(Succeed())
		Expect(w.evacuate(ctx)).To(And(HaveField("Left", 1), HaveField("Held", false)))
		Expect(w.calls["evict"]).To(BeZero())
	})

	It("tells virtual machines of one name by their namespaces", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		other := *w
		other.namespace = server.NewNamespace(ctx)
		DeferCleanup(other.clear)
		other.add(ctx, "a")
		w.answers = func(dryRun bool, pod client.Object) error {
			if pod.GetNamespace() == other.namespace {
				return other.markAndRefuse(dryRun, pod)
			}
			return w.markAndRefuse(dryRun, pod)
		}
		w.evacuate(ctx)
		for _, each := range []*world{w, &other} {
			Expect(each.instance(ctx, "a").Status.EvacuationNodeName).To(Equal(nodeOne), each.namespace)
		}
	})

	It("waits for a virt-api that does not answer", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		w.add(ctx, "b")
		w.unanswered = true
		progress := w.evacuate(ctx)
		Expect(progress.Held).To(BeTrue())
		Expect(progress.Message).To(ContainSubstring("virt-api of KubeVirt does not answer"))
		Expect(w.calls["evict"]).To(Equal(1), "one is enough to know")
		w.unanswered = false
		Expect(w.evacuate(ctx).Held).To(BeFalse())
	})

	It("migrates by itself what an eviction would stop, a few at a time, and tries again", func(ctx SpecContext) {
		w := newWorld(ctx)
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.add(ctx, name, strategy(kubevirtv1.EvictionStrategyNone))
		}
		w.evacuate(ctx)
		Expect(w.calls["evict"]).To(BeZero())
		migrations := w.migrations(ctx)
		Expect(migrations).To(HaveLen(4))
		Expect(migrations).To(HaveEach(And(
			HaveField("Annotations", And(HaveKeyWithValue(infrav1.EvacuatedByAnnotation, attempt), HaveKeyWithValue("kubevirt.io/evacuationMigration", nodeOne))),
			HaveField("Labels", HaveKey(infrav1.EvacuationLabel)))))
		w.evacuate(ctx)
		Expect(w.migrations(ctx)).To(HaveLen(4), "no more while they run")

		By("failures of the first")
		name := migrations[0].Spec.VMIName
		for failure := range 3 {
			for _, m := range w.migrations(ctx) {
				if m.Spec.VMIName == name && m.Status.Phase != kubevirtv1.MigrationFailed {
					m.Status.Phase = kubevirtv1.MigrationFailed
					Expect(live.Status().Update(ctx, &m)).To(Succeed())
				}
			}
			progress := w.evacuate(ctx)
			Expect(progress.Held).To(Equal(failure == 2), progress.Message)
		}
		Expect(w.evacuate(ctx).Message).To(ContainSubstring(w.namespace + "/" + name + " its migration failed 3 times"))
		of := 0
		for _, m := range w.migrations(ctx) {
			if m.Spec.VMIName == name {
				of++
			}
		}
		Expect(of).To(Equal(3), "nobody tries a fourth time")
	})

	DescribeTable("counts the failures since it began, whatever the clock of the cluster says", func(ctx SpecContext, ahead time.Duration) {
		w := newWorld(ctx)
		w.ahead = ahead
		w.add(ctx, "vm", strategy(kubevirtv1.EvictionStrategyNone))
		for n := range 3 {
			former := &kubevirtv1.VirtualMachineInstanceMigration{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("former-%d", n)},
				Spec:       kubevirtv1.VirtualMachineInstanceMigrationSpec{VMIName: "vm"},
			}
			Expect(live.Create(ctx, former)).To(Succeed())
			former.Status.Phase = kubevirtv1.MigrationFailed
			Expect(live.Status().Update(ctx, former)).To(Succeed())
		}
		evacuate := func() kubevirt.Progress {
			GinkgoHelper()
			// Stored times have whole seconds: the next migration is made in another one.
			for _, m := range w.migrations(ctx) {
				Eventually(time.Now).Should(BeTemporally(">", m.CreationTimestamp.Add(time.Second)))
			}
			return w.evacuate(ctx)
		}
		Expect(evacuate().Held).To(BeFalse(), "those that failed before do not count")
		for failure := range 3 {
			for _, m := range w.migrations(ctx) {
				m.Status.Phase = kubevirtv1.MigrationFailed
				Expect(live.Status().Update(ctx, &m)).To(Succeed())
			}
			Expect(evacuate().Held).To(Equal(failure == 2))
		}
	},
		Entry("8 h behind", -8*time.Hour), Entry("1 min behind", -time.Minute), Entry("the same", time.Duration(0)),
		Entry("1 min ahead", time.Minute), Entry("8 h ahead", 8*time.Hour),
	)

	It("stops what has to be stopped last, and remembers how it was in the same write", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.policy = infrav1.VMPolicyShutdownAndRestore
		w.add(ctx, "moves")
		w.add(ctx, "stays", notMigratable)
		w.evacuate(ctx)
		Expect(w.machine(ctx, "stays").Spec.RunStrategy).To(HaveValue(Equal(kubevirtv1.RunStrategyAlways)), "not as long as another is on its way")
		w.leave(ctx, "moves")
		progress := w.evacuate(ctx)
		Expect(progress.Decisions).To(ConsistOf(And(HaveField("Name", "stays"), HaveField("Decision", infrav1.VMShutdownAndRestore))))
		stopped := w.machine(ctx, "stays")
		Expect(stopped.Spec.RunStrategy).To(HaveValue(Equal(kubevirtv1.RunStrategyHalted)))
		Expect(stopped.Annotations[infrav1.VMPowerStateAnnotation]).To(MatchJSON(`{"attempt":"` + attempt + `","node":"node-1","field":"runStrategy",
			"value":"Always","policy":"ShutdownAndRestore","reason":"is not live-migratable: DisksNotLiveMigratable: disk x is local"}`))
		Expect(stopped.Labels).To(HaveKeyWithValue(infrav1.VMStoppedLabel, "true"))
		Expect(w.calls["patch"]).To(Equal(1))

		By("going on waiting for it, with the same decision")
		Expect(w.evacuate(ctx).Decisions).To(HaveExactElements(HaveField("Status()", progress.Decisions[0].Status())))
		Expect(w.calls["patch"]).To(Equal(1))
		w.leave(ctx, "stays")
		Expect(w.evacuate(ctx).Done).To(BeTrue())
	})

	It("stops nothing as long as another holds the node", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.policy = infrav1.VMPolicyShutdown
		w.add(ctx, "stays", notMigratable)
		w.add(ctx, "blocks", labelled(infrav1.VMPolicyLabel, "Block"))
		progress := w.evacuate(ctx)
		Expect(progress.Held).To(BeTrue())
		Expect(progress.Message).To(Equal("VirtualMachineInstance " + w.namespace + "/blocks label infrastructure.cluster.x-k8s.io/elemental-vm-policy is Block (1 to be shut down after that)"))
		Expect(w.machine(ctx, "stays").Spec.RunStrategy).To(HaveValue(Equal(kubevirtv1.RunStrategyAlways)))
	})

	It("moves nothing where the policy is to block, as long as one blocks", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "moves")
		w.add(ctx, "stays", notMigratable)
		Expect(w.evacuate(ctx).Message).To(Equal("VirtualMachineInstance " + w.namespace + "/stays " + isLocal + " (and waiting for 1 virtual machine to leave Node node-1)"))
		Expect(w.calls["evict"]).To(BeZero())
		w.policy = infrav1.VMPolicyMigrate
		w.evacuate(ctx)
		Expect(w.calls["evict"]).To(Equal(2))
	})

	It("deletes by policy what has no VirtualMachine", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.policy = infrav1.VMPolicyShutdown
		w.add(ctx, "alone", notMigratable, ownerless)
		w.evacuate(ctx)
		Expect(apierrors.IsNotFound(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "alone"}, &kubevirtv1.VirtualMachineInstance{}))).To(BeTrue())
	})

	It("ignores an instance that has ended", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "ended", vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Status.Phase = kubevirtv1.Failed }))
		Expect(live.Delete(ctx, &corev1.Pod{ObjectMeta: w.meta("virt-launcher-ended")}, client.GracePeriodSeconds(0))).To(Succeed())
		Expect(w.evacuate(ctx).Done).To(BeTrue())
	})

	It("waits for an instance that is being deleted, although its Pod is gone", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a", vmi(func(v *kubevirtv1.VirtualMachineInstance) {
			v.Finalizers = []string{"test.example.com/held"}
		}))
		Expect(live.Delete(ctx, w.instance(ctx, "a"))).To(Succeed())
		Expect(live.Delete(ctx, &corev1.Pod{ObjectMeta: w.meta("virt-launcher-a")}, client.GracePeriodSeconds(0))).To(Succeed())
		Expect(w.evacuate(ctx)).To(And(HaveField("Done", false), HaveField("Message", "waiting for the last virtual machines to leave Node node-1")))
		held := w.instance(ctx, "a")
		held.Finalizers = nil
		Expect(live.Update(ctx, held)).To(Succeed())
		Expect(w.evacuate(ctx).Done).To(BeTrue())
	})

	It("names a few of many that hold the node", func(ctx SpecContext) {
		w := newWorld(ctx)
		for i := range 5 {
			w.add(ctx, fmt.Sprintf("vm-%d", i), labelled(infrav1.VMPolicyLabel, "Block"))
			if i == 2 {
				Expect(w.evacuate(ctx).Message).To(And(ContainSubstring("/vm-2 "), Not(ContainSubstring("more"))))
			}
		}
		Expect(w.evacuate(ctx).Message).To(And(ContainSubstring("/vm-0 "), ContainSubstring("/vm-2 "), HaveSuffix(" and 2 more")))
	})

	It("taints the node for a KubeVirt that needs it, and for no other", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		w.evacuate(ctx)
		Expect(w.evacuation(ctx).Node.Spec.Taints).To(BeEmpty())
		w.observe(ctx, "v0.59.2")
		w.evacuate(ctx)
		Expect(w.evacuation(ctx).Node.Spec.Taints).To(ConsistOf(And(HaveField("Key", kubevirt.DrainTaint), HaveField("Effect", corev1.TaintEffectNoSchedule))))
		Expect(w.cancel(ctx).Done).To(BeTrue())
		Expect(w.evacuation(ctx).Node.Spec.Taints).To(BeEmpty())
		Expect(w.evacuation(ctx).Node.Annotations).To(BeEmpty())
	})
})

var _ = Describe("What may never leave a Node", func() {
	It("is decided on where it hangs in its start, and named with what ends it", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a", starting)
		instance := w.instance(ctx, "a")
		instance.Labels = nil // KubeVirt names the Node when the Pod runs
		Expect(live.Update(ctx, instance)).To(Succeed())
		progress := w.evacuate(ctx)
		Expect(progress.Held).To(BeTrue())
		Expect(progress.Message).To(And(HavePrefix("VirtualMachineInstance "+w.namespace+"/a is not running yet: it is Scheduling"),
			ContainSubstring("kubectl --namespace "+w.namespace+" label --overwrite vm a ")))
		Expect(progress.Decisions).To(HaveExactElements(And(HaveField("Name", "a"), HaveField("Decision", infrav1.VMBlock))))

		By("a user who has it stopped")
		w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) {
			v.Labels = map[string]string{infrav1.VMPolicyLabel: string(infrav1.VMPolicyShutdownAndRestore)}
		})
		w.evacuate(ctx)
		Expect(powerOf(w.machine(ctx, "a")).strategy).To(Equal(kubevirtv1.RunStrategyHalted))
	})

	It("is named with what clears it: an instance that has been stopped and stays, and its Pod", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a", vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Finalizers = []string{"foregroundDeleteVirtualMachine"} }))
		Expect(live.Delete(ctx, w.instance(ctx, "a"))).To(Succeed())
		Expect(live.Delete(ctx, &corev1.Pod{ObjectMeta: w.meta("virt-launcher-a")}, client.GracePeriodSeconds(60))).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			held := w.instance(ctx, "a")
			held.Finalizers = nil
			Expect(live.Update(ctx, held)).To(Succeed())
			w.leaveLauncher(ctx, "a")
		})
		evacuation := w.evacuation(ctx)
		for _, late := range []time.Duration{0, time.Hour} { // when it is seen first, and later
			named := late > 0
			evacuation.Now = time.Now().Add(late)
			progress, err := kubevirt.Evacuate(ctx, evacuation)
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.Contains(progress.Message, "kubectl --namespace "+w.namespace+" patch vmi a ")).To(Equal(named), progress.Message)
			Expect(strings.Contains(progress.Message, "kubectl --namespace "+w.namespace+" delete pod virt-launcher-a ")).To(Equal(named), progress.Message)
		}
	})
})
