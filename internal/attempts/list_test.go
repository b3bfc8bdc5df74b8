// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts/attemptstest"
)

// phases in which an attempt has not ended; it has none before it is looked at first.
var unfinished = []infrav1.UpgradePhase{"", infrav1.UpgradePending, infrav1.UpgradeProgressing, infrav1.UpgradeHostLost}

// newNamespace holds attempts of the Clusters c and other, one in each phase, named by Cluster and phase.
func newNamespace(ctx SpecContext) string {
	GinkgoHelper()
	namespace := server.NewNamespace(ctx)
	for _, cluster := range []string{"c", "other"} {
		for _, phase := range append(infrav1.UpgradeEnds(), unfinished...) {
			attempt := attemptstest.New(namespace, nameOf(cluster, phase), cluster, "h-"+cluster, "i")
			attempt.Spec.MachineName, attempt.Spec.ElementalMachineName = "m-"+cluster, "em-"+cluster
			Expect(live.Create(ctx, attempt)).To(Succeed())
			attempt.Status.Phase = phase
			Expect(live.Status().Update(ctx, attempt)).To(Succeed())
		}
	}
	return namespace
}

func nameOf(cluster string, phase infrav1.UpgradePhase) string {
	suffix := map[infrav1.UpgradePhase]string{
		"": "new", infrav1.UpgradePending: "pending", infrav1.UpgradeProgressing: "progressing", infrav1.UpgradeHostLost: "host-lost",
		infrav1.UpgradeSucceeded: "succeeded", infrav1.UpgradeRolledBack: "rolled-back", infrav1.UpgradeFailed: "failed",
		infrav1.UpgradeSuperseded: "superseded", infrav1.UpgradeAborted: "aborted",
	}
	return cluster + "-" + suffix[phase]
}

func namesOf(cluster string, phases ...infrav1.UpgradePhase) []string {
	names := make([]string, 0, len(phases))
	for _, phase := range phases {
		names = append(names, nameOf(cluster, phase))
	}
	return names
}

func names(found []infrav1.ElementalHostUpgrade, err error) ([]string, error) {
	told := make([]string, 0, len(found))
	for i := range found {
		told = append(told, found[i].Name)
	}
	return told, err
}

var _ = Describe("Attempts", func() {
	It("are found by their ElementalMachine, in their namespace", func(ctx SpecContext) {
		key := client.ObjectKey{Namespace: newNamespace(ctx), Name: "c"}
		newNamespace(ctx)
		all := ConsistOf(namesOf("c", append(infrav1.UpgradeEnds(), unfinished...)...))
		Eventually(func() ([]string, error) {
			return names(attempts.OnElementalMachine(ctx, cached, key.Namespace, "em-c"))
		}).Should(all)
	})

	It("are found by their Machine and rollout, of which there is none without one", func(ctx SpecContext) {
		machine := client.ObjectKey{Namespace: newNamespace(ctx), Name: "m-c"}
		made := &infrav1.ElementalHostUpgrade{}
		Eventually(func() error {
			return cached.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: nameOf("c", infrav1.UpgradeFailed)}, made)
		}).Should(Succeed())
		made.Spec.RolloutName = "r"
		other := made.DeepCopy()
		other.ObjectMeta = metav1.ObjectMeta{Namespace: made.Namespace, Name: "of-a-rollout"}
		Expect(live.Create(ctx, other)).To(Succeed())
		Eventually(func() (*infrav1.ElementalHostUpgrade, error) { return attempts.OfRollout(ctx, cached, machine, "r") }).Should(HaveField("Name", "of-a-rollout"))
		Expect(attempts.OfRollout(ctx, cached, machine, "other")).To(BeNil())
		Expect(attempts.OfRollout(ctx, cached, client.ObjectKey{Namespace: newNamespace(ctx), Name: "m-c"}, "r")).To(BeNil())
	})

	It("are unsettled unless they are history, and while they are paused", func(ctx SpecContext) {
		key := client.ObjectKey{Namespace: newNamespace(ctx), Name: "c"}
		newNamespace(ctx)
		unsettled := append(namesOf("c", unfinished...), namesOf("c", infrav1.UpgradeRolledBack, infrav1.UpgradeFailed, infrav1.UpgradeAborted)...)
		Eventually(func() ([]string, error) { return names(attempts.Unsettled(ctx, cached, key)) }).Should(ConsistOf(unsettled))

		paused := &infrav1.ElementalHostUpgrade{}
		Expect(live.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: nameOf("c", infrav1.UpgradeSucceeded)}, paused)).To(Succeed())
		conditions.Set(paused, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason})
		Expect(live.Status().Update(ctx, paused)).To(Succeed())
		Eventually(func() ([]string, error) { return names(attempts.Unsettled(ctx, cached, key)) }).Should(ConsistOf(append(unsettled, paused.Name)))
	})

	It("are found by their Node, in its Cluster and namespace", func(ctx SpecContext) {
		key := client.ObjectKey{Namespace: newNamespace(ctx), Name: "c"}
		for _, cluster := range []string{"c", "other"} {
			attempt := &infrav1.ElementalHostUpgrade{}
			Expect(live.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: cluster + "-failed"}, attempt)).To(Succeed())
			attempt.Status.NodeName = "n-1"
			Expect(live.Status().Update(ctx, attempt)).To(Succeed())
		}
		Eventually(func() ([]string, error) { return names(attempts.OnNode(ctx, cached, key, "n-1")) }).Should(ConsistOf("c-failed"))
	})

	It("are found while they have not ended", func(ctx SpecContext) {
		key := client.ObjectKey{Namespace: newNamespace(ctx), Name: "c"}
		newNamespace(ctx)
		expected := ConsistOf(namesOf("c", unfinished...))
		Expect(names(attempts.UnfinishedNow(ctx, live, key))).To(expected)
		Eventually(func() ([]string, error) { return names(attempts.Unfinished(ctx, cached, key)) }).Should(expected)
	})

	It("have ended where they did so before they were moved here", func(ctx SpecContext) {
		key := client.ObjectKey{Namespace: newNamespace(ctx), Name: "c"}
		moved := &infrav1.ElementalHostUpgrade{}
		Expect(live.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: "c-new"}, moved)).To(Succeed())
		moved.Annotations = map[string]string{infrav1.EndedAnnotation: string(infrav1.UpgradeSucceeded)}
		Expect(live.Update(ctx, moved)).To(Succeed())
		expected := ConsistOf(namesOf("c", unfinished[1:]...))
		Expect(names(attempts.UnfinishedNow(ctx, live, key))).To(expected)
		Eventually(func() ([]string, error) { return names(attempts.Unfinished(ctx, cached, key)) }).Should(expected)
	})

	DescribeTable("are found by what they name, in the cache and at the API server", func(ctx SpecContext, field, value string, readers ...func() client.Reader) {
		namespace := newNamespace(ctx)
		for _, reader := range readers {
			Eventually(func() ([]string, error) {
				found := &infrav1.ElementalHostUpgradeList{}
				err := reader().List(ctx, found, client.InNamespace(namespace), client.MatchingFields{field: value})
				return names(found.Items, err)
			}).Should(ConsistOf(namesOf("c", append(infrav1.UpgradeEnds(), unfinished...)...)))
		}
	},
		Entry("the host", attempts.ByHost, "h-c", theCache, theServer),
		Entry("the Machine", attempts.ByMachine, "m-c", theCache, theServer),
	)
})

func theCache() client.Reader  { return cached }
func theServer() client.Reader { return live }
