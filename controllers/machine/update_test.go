// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// Serial, because there is one clock.
var _ = Describe("A Machine in an update in place", Serial, func() {
	var (
		w       *world
		machine *infrav1.ElementalMachine
		host    *infrav1.ElementalHost
		owner   *clusterv1.Machine
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		machine, host = w.running(ctx, "m1", madeFrom("t1"))
		owner = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "m1"}}
		apiserver.Change(ctx, server.Client, machine, func() { // Cluster API has moved it from another template
			machine.Annotations[infrav1.NotedTemplateAnnotation], machine.Annotations[infrav1.NotedOSAnnotation] = "t0", osversion.Stored("former")
		})
	})
	marked := func() OmegaMatcher { return HaveField("Annotations", HaveKey(clusterv1.UpdateInProgressAnnotation)) }
	// attemptFor makes an attempt to bring the host to an image, and lets it end.
	attemptFor := func(ctx SpecContext, uri string, phase infrav1.UpgradePhase, digest string, changes ...func(*infrav1.ElementalHostUpgrade)) {
		GinkgoHelper()
		wanted := osversion.OfImage(uri)
		apiserver.Change(ctx, server.Client, machine, func() { machine.Spec.OSVersionManagement = wanted })
		of := ownertest.Rollout(ownertest.Template(w.ns, "t1", uri), "c1")
		Expect(server.Client.Create(ctx, of)).To(Succeed())
		Eventually(func() error { return cached.Get(ctx, client.ObjectKeyFromObject(of), of) }).Should(Succeed()) // it wakes no machine
		upgrade := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "attempt-" + of.Name}}
		upgrade.Spec = infrav1.ElementalHostUpgradeSpec{
			ClusterName: "c1", MachineName: "m1", ElementalMachineName: "m1", HostName: host.Name,
			RolloutName: of.Name, ImageURI: uri, OSVersionManagement: wanted,
		}
		for _, change := range changes {
			change(upgrade)
		}
		Expect(server.Client.Create(ctx, upgrade)).To(Succeed())
		apiserver.ChangeStatus(ctx, server.Client, upgrade, func() { upgrade.Status.Phase, upgrade.Status.Digest = phase, digest })
	}

	// attempt is one to bring the host from os:v1 to os:v2.
	attempt := func(ctx SpecContext, phase infrav1.UpgradePhase, digest string, changes ...func(*infrav1.ElementalHostUpgrade)) {
		GinkgoHelper()
		attemptFor(ctx, "oci://os:v2", phase, digest, changes...)
	}

	// beforeMove is how an attempt ended before it was moved to this management cluster, which has not looked at it yet.
	beforeMove := func(ended infrav1.UpgradePhase) func(*infrav1.ElementalHostUpgrade) {
		return func(upgrade *infrav1.ElementalHostUpgrade) {
			upgrade.Annotations = map[string]string{infrav1.EndedAnnotation: string(ended)}
		}
	}

	// neverBegun gives the machine the OS of another template, without a mark and without an attempt.
	neverBegun := func(ctx SpecContext) {
		GinkgoHelper()
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Annotations", HaveKeyWithValue(
			infrav1.OSReachedAnnotation, osversion.Stored(osversion.Hash(machine.Spec.OSVersionManagement)))))
		w.template(ctx, "t2", "oci://os:v2")
		apiserver.Change(ctx, server.Client, machine, func() {
			machine.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2")
			machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = "t2"
		})
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.OSDriftedCondition, metav1.ConditionFalse, infrav1.UpgradeInProgressReason))
	}

	// noted is what the rollout of a patched template has noted on the machine.
	noted := func(ctx SpecContext, template, os string) {
		GinkgoHelper()
		apiserver.Change(ctx, server.Client, machine, func() {
			machine.Annotations[infrav1.NotedTemplateAnnotation], machine.Annotations[infrav1.NotedOSAnnotation] = template, osversion.Stored(os)
		})
	}

	It("records what the host has reached, unless a rollout of its template does with its end: not where that is paused", func(ctx SpecContext) {
		reached := func(uri string) OmegaMatcher {
			return HaveField("Annotations", HaveKeyWithValue(infrav1.OSReachedAnnotation, osversion.Stored(osversion.Hash(osversion.OfImage(uri)))))
		}
		Eventually(server.Stored(ctx, machine)).Should(reached("oci://os:v1"))
		template := w.template(ctx, "t1", "oci://os:v2")
		apiserver.Change(ctx, server.Client, machine, func() {
			machine.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2")
			machine.Annotations[infrav1.RolloutAnnotation] = "r1"
			machine.Annotations[infrav1.NotedTemplateAnnotation], machine.Annotations[infrav1.NotedOSAnnotation] = "t1", osversion.Stored(osversion.Hash(osversion.OfImage("oci://os:v2")))
		})
		apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.OS.ImageURI = "oci://os:v2" })
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		Expect(machine).To(reached("oci://os:v1"))
		apiserver.Change(ctx, server.Client, template, func() { template.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
		Eventually(func() *infrav1.ElementalMachine {
			apiserver.Change(ctx, server.Client, machine, func() { machine.Annotations["test.example.com/touched"] = time.Now().String() })
			return apiserver.Get(ctx, server.Client, machine)
		}).Should(reached("oci://os:v2"))
	})

	DescribeTable("gets the mark back that was lost, once Cluster API has had the time to set it itself",
		func(ctx SpecContext, lose func(ctx SpecContext)) {
			lose(ctx)
			Consistently(server.Stored(ctx, owner)).ShouldNot(marked())
			clock.SetTime(time.Now().Add(time.Minute))
			// Only an event makes the controller look at the clock again.
			Expect(annotate(ctx, machine, "test.example.com/touched")).To(Succeed())
			Eventually(server.Stored(ctx, owner)).Should(marked())
		},
		Entry("after it was moved to another MachineSet", func(ctx SpecContext) {
			Expect(annotate(ctx, owner, clusterv1.PendingAcknowledgeMoveAnnotation)).To(Succeed())
		}),
		Entry("after its ElementalMachine got the new spec", func(ctx SpecContext) {
			Expect(annotate(ctx, machine, clusterv1.UpdateInProgressAnnotation)).To(Succeed())
		}),
		Entry("after it and all other marks were lost before an attempt was made", func(ctx SpecContext) { neverBegun(ctx) }),
		Entry("the same, although a patch had brought it to the template before", func(ctx SpecContext) {
			noted(ctx, "t1", osversion.Hash(osversion.OfImage("oci://os:v1")))
			neverBegun(ctx)
		}),
		Entry("after it was brought back to the template of its note while it was updated to another one", func(ctx SpecContext) {
			w.template(ctx, "t1", "oci://os:v1")
			neverBegun(ctx)
			apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.OS.ImageURI, host.Status.OS.Digest = "oci://os:v2", "sha256:2" })
			Eventually(server.Stored(ctx, machine)).Should(HaveField("Annotations", HaveKeyWithValue(
				infrav1.OSReachedAnnotation, osversion.Stored(osversion.Hash(osversion.OfImage("oci://os:v2"))))))
			noted(ctx, "t1", osversion.Hash(osversion.OfImage("oci://os:v1")))
			apiserver.Change(ctx, server.Client, machine, func() {
				machine.Spec.OSVersionManagement = osversion.OfImage("oci://os:v1")
				machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = "t1"
			})
		}),
		Entry("while the attempt goes on", func(ctx SpecContext) { attempt(ctx, infrav1.UpgradeProgressing, "") }),
		Entry("while the host does not come back", func(ctx SpecContext) { attempt(ctx, infrav1.UpgradeHostLost, "sha256:2") }),
		Entry("although the host fell back", func(ctx SpecContext) { attempt(ctx, infrav1.UpgradeRolledBack, "sha256:2") }),
		Entry("although the host fell back before it was moved here", func(ctx SpecContext) {
			attempt(ctx, "", "sha256:2", beforeMove(infrav1.UpgradeRolledBack))
		}),
		Entry("although the attempt failed", func(ctx SpecContext) { attempt(ctx, infrav1.UpgradeFailed, "") }),
	)

	It("gets it back although the clock of the API server is ahead", func(ctx SpecContext) {
		clock.SetTime(time.Now().Add(-8 * time.Hour))
		attempt(ctx, infrav1.UpgradeProgressing, "")
		Eventually(server.Stored(ctx, owner)).Should(marked())
	})

	DescribeTable("is left alone where its update has come to its end, or is marked",
		func(ctx SpecContext, prepare func(ctx SpecContext)) {
			prepare(ctx)
			// Whoever is just looking at what is half prepared must not see the time pass.
			Eventually(settled(machine)).WithPolling(apiserver.Settling).Should(BeTrue())
			clock.SetTime(time.Now().Add(time.Minute))
			Expect(annotate(ctx, machine, "test.example.com/touched")).To(Succeed())
			Consistently(server.Stored(ctx, owner)).ShouldNot(marked())
		},
		Entry("there is no attempt", func(SpecContext) {}),
		Entry("a patch is bringing it to what it specifies", func(ctx SpecContext) {
			neverBegun(ctx)
			noted(ctx, "gone", osversion.Hash(osversion.OfImage("oci://os:v2")))
		}),
		Entry("this provider has brought it to an image of which the host had fallen back before, and which it has left again weeks later", func(ctx SpecContext) {
			Eventually(server.Stored(ctx, machine)).Should(HaveField("Annotations", HaveKey(infrav1.OSReachedAnnotation)))
			noted(ctx, "t1", osversion.Hash(osversion.OfImage("oci://os:v1")))
			attemptFor(ctx, "oci://os:v1", infrav1.UpgradeRolledBack, "sha256:1")
			apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.OS.ImageURI, host.Status.OS.Digest = "oci://os:v0", "sha256:0" })
		}),
		Entry("a user gives it by hand what its template, which is not rolled out, was patched to", func(ctx SpecContext) {
			Eventually(server.Stored(ctx, machine)).Should(HaveField("Annotations", HaveKey(infrav1.OSReachedAnnotation)))
			noted(ctx, "t1", osversion.Hash(osversion.OfImage("oci://os:v1")))
			w.template(ctx, "t1", "oci://os:v2")
			apiserver.Change(ctx, server.Client, machine, func() { machine.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2") })
		}),
		Entry("a person changed the machine by hand", func(ctx SpecContext) {
			apiserver.Change(ctx, server.Client, machine, func() { machine.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2") })
		}),
		Entry("the host fell back weeks after it had reached what it was made with", func(ctx SpecContext) {
			Eventually(server.Stored(ctx, machine)).Should(HaveField("Annotations", HaveKey(infrav1.OSReachedAnnotation)))
			w.template(ctx, "t1", "oci://os:v1")
			apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.OS.ImageURI, host.Status.OS.Digest = "oci://os:v0", "sha256:0" })
		}),
		Entry("the attempt succeeded, and the host fell back weeks later", func(ctx SpecContext) { attempt(ctx, infrav1.UpgradeSucceeded, "sha256:2") }),
		Entry("the attempt succeeded before it was moved here", func(ctx SpecContext) {
			attempt(ctx, "", "", beforeMove(infrav1.UpgradeSucceeded))
		}),
		Entry("the attempt was superseded", func(ctx SpecContext) { attempt(ctx, infrav1.UpgradeSuperseded, "sha256:2") }),
		Entry("the host runs that very digest in spite of a failure", func(ctx SpecContext) { attempt(ctx, infrav1.UpgradeFailed, "sha256:1") }),
		Entry("the owner wants another OS by now, so that the hook has said done without an attempt", func(ctx SpecContext) {
			md := ownertest.MachineDeployment(w.ns, "md", "c1", "t3", 1)
			w.template(ctx, "t3", "oci://os:v3")
			Expect(server.Client.Create(ctx, md)).To(Succeed())
			set := ownertest.MachineSet(md, "ms", "t2", 1)
			Expect(server.Client.Create(ctx, set)).To(Succeed())
			apiserver.Change(ctx, server.Client, owner, func() { owner.OwnerReferences = ownertest.Machine(set, "m1").OwnerReferences })
			neverBegun(ctx)
		}),
		Entry("the host runs the digest that the image was resolved to under another name, of which the hook says done without an attempt", func(ctx SpecContext) {
			neverBegun(ctx)
			of := ownertest.Rollout(ownertest.Template(w.ns, "t2", "oci://os:v2"), "c1")
			of.Spec.ImageDigest = host.Status.OS.Digest
			Expect(server.Client.Create(ctx, of)).To(Succeed())
			Eventually(func() error { return cached.Get(ctx, client.ObjectKeyFromObject(of), of) }).Should(Succeed()) // it wakes no machine
		}),
		Entry("a hook is pending", func(ctx SpecContext) {
			Expect(annotate(ctx, owner, runtimev1.PendingHooksAnnotation)).To(Succeed())
			attempt(ctx, infrav1.UpgradeProgressing, "")
		}),
	)

	DescribeTable("says that the mark was lost, and that it is lost again, once each", func(ctx SpecContext, isLate bool) {
		restoring := infrav1.UpdateMarkRestoredCondition
		neverBegun(ctx)
		var former *infrav1.ElementalMachine
		lose := func() {
			GinkgoHelper()
			if isLate {
				late.Store(client.ObjectKeyFromObject(machine), former.DeepCopy())
			}
			clock.SetTime(clock.Now().Add(time.Minute))
			Expect(annotate(ctx, machine, fmt.Sprintf("test.example.com/touched-%d", clock.Now().Unix()))).To(Succeed())
			Eventually(server.Stored(ctx, owner)).Should(marked())
			apiserver.Change(ctx, server.Client, owner, func() { delete(owner.Annotations, clusterv1.UpdateInProgressAnnotation) })
		}
		told := func() (notes []string, err error) {
			list := &eventsv1.EventList{}
			err = server.Client.List(ctx, list, client.InNamespace(w.ns))
			for i := range list.Items {
				if list.Items[i].Reason == infrav1.EventUpdateMarkRestored {
					notes = append(notes, list.Items[i].Note)
				}
			}
			return notes, err
		}
		apiserver.Get(ctx, server.Client, machine)
		Expect(conditions.Get(machine, restoring)).To(BeNil(), "nothing was lost")
		former = machine.DeepCopy()
		lose()
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(restoring, metav1.ConditionTrue, infrav1.MarkLostReason))
		for range 3 {
			lose()
			Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(restoring, metav1.ConditionTrue, infrav1.MarkLostAgainReason))
		}
		Eventually(told).Should(ConsistOf(
			HavePrefix("Machine m1 lost annotation update-in-progress before ElementalHost "+host.Name+" ran oci://os:v2, and it was restored"),
			HavePrefix("Lost again: Machine m1 lost annotation")))

		apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.OS.ImageURI = "oci://os:v2" })
		Eventually(func() *infrav1.ElementalMachine { // Cluster API removes the mark of what is done
			apiserver.Change(ctx, server.Client, owner, func() { delete(owner.Annotations, clusterv1.UpdateInProgressAnnotation) })
			return apiserver.Get(ctx, server.Client, machine)
		}).Should(apiserver.HaveCondition(restoring, metav1.ConditionFalse, infrav1.MarkNotLostReason))
	},
		Entry("", false),
		Entry("also while the cache does not show what was said", true),
	)

	It("gets the mark back when Cluster API has cleaned up after a person who took it off, without any other event", func(ctx SpecContext) {
		Expect(annotate(ctx, owner, runtimev1.PendingHooksAnnotation)).To(Succeed())
		attempt(ctx, infrav1.UpgradeRolledBack, "sha256:2")
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.HostRunsOtherOSReason))
		clock.SetTime(time.Now().Add(time.Minute))
		Consistently(server.Stored(ctx, owner)).ShouldNot(marked())
		apiserver.Change(ctx, server.Client, owner, func() { delete(owner.Annotations, runtimev1.PendingHooksAnnotation) })
		Eventually(server.Stored(ctx, owner)).Should(marked())
	})

	It("has the hook called again while its calls fail, and not more often than needed", func(ctx SpecContext) {
		updating := func(reason string) {
			apiserver.ChangeStatus(ctx, server.Client, owner, func() {
				owner.Status.Conditions = []metav1.Condition{{
					Type: clusterv1.MachineUpdatingCondition, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.Now(),
				}}
			})
		}
		asked := func() string {
			GinkgoHelper()
			apiserver.Get(ctx, server.Client, machine)
			return machine.Annotations[infrav1.HookRetryAnnotation]
		}
		updating(clusterv1.MachineInPlaceUpdateFailedReason)
		Eventually(asked).ShouldNot(BeEmpty())
		first := asked()
		Expect(annotate(ctx, machine, "test.example.com/touched")).To(Succeed())
		Consistently(asked).Should(Equal(first))

		clock.SetTime(time.Now().Add(time.Minute))
		apiserver.Change(ctx, server.Client, machine, func() { delete(machine.Annotations, "test.example.com/touched") })
		Eventually(asked).ShouldNot(Equal(first))

		updating(clusterv1.MachineInPlaceUpdatingReason)
		Eventually(asked).Should(BeEmpty())
	})
})

var _ = Describe("A template that is patched while a machine is made from it", func() {
	It("is followed until the machine has a host, and not after that", func(ctx SpecContext) {
		w := newWorld(ctx)
		template := w.template(ctx, "t1", "oci://os:v2")
		machine := w.machine(ctx, "m1", madeFrom("t1"))
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.OSVersionManagement", osversion.OfImage("oci://os:v2")))

		host := w.host(ctx, "h1")
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.OSVersionManagement", osversion.OfImage("oci://os:v2")))
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
		apiserver.Change(ctx, server.Client, template, func() { template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("oci://os:v3") })
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.TemplateDiffersReason))
		Expect(machine.Spec.OSVersionManagement).To(Equal(osversion.OfImage("oci://os:v2")))
	})
})

// madeFrom marks a machine as Cluster API does that makes it from a template.
func madeFrom(template string) func(*infrav1.ElementalMachine) {
	return func(m *infrav1.ElementalMachine) {
		m.Annotations = map[string]string{
			clusterv1.TemplateClonedFromNameAnnotation:      template,
			clusterv1.TemplateClonedFromGroupKindAnnotation: "ElementalMachineTemplate.infrastructure.cluster.x-k8s.io",
		}
	}
}

// annotate puts an empty annotation on an object, as Cluster API marks the stages of an update.
func annotate(ctx context.Context, object client.Object, key string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:""}}}`, key)
	return server.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}
