// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

const (
	digestA = "sha256:a"
	digestB = "sha256:b"
)

// fetchWorld is a plan of so many nodes "a-1", ... whose hosts have agents that fetch ahead.
type fetchWorld struct {
	plan  *clusterupgrade.Plan
	hosts map[string]*infrav1.ElementalHost
}

func nodesToFetch(digest string, states ...clusterupgrade.State) *fetchWorld {
	w := &fetchWorld{plan: plan([]clusterupgrade.Pool{pool("a", "a", states...)}), hosts: map[string]*infrav1.ElementalHost{}}
	w.plan.Upgrade.Spec.OSVersion.ImageURI = "oci://r/os:2"
	if digest != "" {
		w.plan.Upgrade.Annotations = map[string]string{infrav1.ResolvedDigestAnnotation: rollout.Pin("oci://r/os:2", digest)}
	}
	for i := range w.plan.Pools[0].Members {
		name := fmt.Sprintf("h-%d", i+1)
		w.plan.Pools[0].Members[i].Elemental = &infrav1.ElementalMachine{Spec: infrav1.ElementalMachineSpec{HostRef: &corev1.ObjectReference{Name: name}}}
		w.hosts[name] = &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Name: name}}
		w.hosts[name].Status.Agent = infrav1.HostAgent{Version: "v0.9.0", Prefetches: true}
	}
	return w
}

// orders a host, which reports that, with a digest.
func (w *fetchWorld) reports(host int, phase infrav1.HostUpgradePhase, digest, message string) *fetchWorld {
	w.ordered(host)
	w.hosts[fmt.Sprintf("h-%d", host)].Status.Prefetch = &infrav1.HostPrefetchStatus{
		ID: clusterupgrade.OrderID(w.plan.Upgrade), Phase: phase, Digest: digest, Message: message,
	}
	return w
}

func (w *fetchWorld) ordered(host int) *fetchWorld {
	w.hosts[fmt.Sprintf("h-%d", host)].Spec.Prefetch = &infrav1.HostPrefetch{
		ID: clusterupgrade.OrderID(w.plan.Upgrade), ImageURI: "oci://r/os:2", Digest: clusterupgrade.Digest(w.plan.Upgrade),
	}
	return w
}

func (w *fetchWorld) runs(host int, digest string) *fetchWorld {
	w.hosts[fmt.Sprintf("h-%d", host)].Status.OS = infrav1.HostOS{ImageURI: "oci:r/os:2", Digest: digest}
	return w
}

func (w *fetchWorld) old(host int) *fetchWorld {
	w.hosts[fmt.Sprintf("h-%d", host)].Status.Agent.Prefetches = false
	return w
}

func (w *fetchWorld) down(host int) *fetchWorld {
	w.plan.Pools[0].Members[host-1].Machine.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionUnknown}}
	return w
}

func (w *fetchWorld) unserved(host int) *fetchWorld {
	delete(w.hosts, fmt.Sprintf("h-%d", host))
	return w
}

var _ = Describe("Stage Prefetch", func() {
	DescribeTable("orders hosts, and says what it waits for", func(w *fetchWorld, order []string, digest, message, without string) {
		found := w.plan.Prefetch(w.hosts)
		names := []string{}
		for _, member := range found.Order {
			names = append(names, member.Machine.Name)
		}
		Expect(names).To(Equal(order))
		Expect(found.Digest).To(Equal(digest))
		Expect(found.Message).To(Equal(message))
		Expect(found.Without).To(Equal(without))
	},
		Entry("one host, while no digest is known", nodesToFetch("", waiting, waiting), []string{"a-1"}, "", "0 of 2 nodes have the image; the others are ordered to fetch it", ""),
		Entry("no other, while it resolves the image", nodesToFetch("", waiting, waiting).reports(1, infrav1.HostUpgradeFetching, "", ""), []string{}, "",
			"0 of 2 nodes have the image; fetching it: a-1", ""),
		Entry("another, when the first one cannot", nodesToFetch("", waiting, waiting).reports(1, infrav1.HostUpgradeFailed, "", "no such tag"), []string{"a-2"}, "",
			"node a-1 does not have the image: ElementalHost h-1 says: no such tag. Fix that: it tries again", ""),
		Entry("no other, while its registry does not answer", nodesToFetch("", waiting, waiting).reports(1, infrav1.HostUpgradeFetching, "", "no route to host"), []string{}, "",
			"node a-1 does not have the image: ElementalHost h-1 says: no route to host. Fix that: it tries again", ""),
		Entry("the digest that a node runs already", nodesToFetch("", waiting, done).runs(2, digestB).reports(1, infrav1.HostUpgradeFetching, digestA, ""), []string{}, digestB,
			"0 of 1 nodes have the image; fetching it: a-1", ""),
		Entry("the digest, as soon as it is resolved", nodesToFetch("", waiting, waiting).reports(1, infrav1.HostUpgradeFetching, digestA, ""), []string{}, digestA,
			"0 of 2 nodes have the image; fetching it: a-1", ""),
		Entry("all others, once it is known", nodesToFetch(digestA, done, waiting, waiting), []string{"a-2", "a-3"}, digestA,
			"0 of 2 nodes have the image; the others are ordered to fetch it", ""),
		Entry("none that has not answered a second time", nodesToFetch(digestA, waiting).ordered(1), []string{}, digestA,
			"0 of 1 nodes have the image; waiting for the agents of a-1 to begin to fetch it: they have to run, and to reach the Elemental API", ""),
		Entry("a host that is down, and says so", nodesToFetch(digestA, waiting).ordered(1).down(1), []string{}, digestA,
			"node a-1 is not ready: ElementalHost h-1 has to be up to fetch the image", ""),
		Entry("none where there is no host", nodesToFetch(digestA, waiting).unserved(1), []string{}, digestA,
			"node a-1 has no ElementalHost: see condition AssociationReady of ElementalMachine ", ""),
		Entry("none whose agent is too old", nodesToFetch("", waiting).old(1), []string{}, "", "",
			"the agents of a-1 do not fetch ahead: their images are fetched when their turn comes"),
		Entry("none that has it", nodesToFetch(digestA, waiting).reports(1, infrav1.HostUpgradeFetched, digestA, ""), []string{}, digestA, "", ""),
		Entry("none that has another digest of it", nodesToFetch(digestA, waiting).reports(1, infrav1.HostUpgradeFetched, digestB, ""), []string{}, digestA,
			"0 of 1 nodes have the image; fetching it: a-1", ""),
		Entry("none that is in work", nodesToFetch(digestA, begun, done), []string{}, digestA, "", ""),
	)

	It("orders no more than fetch at a time, and counts none that is stuck", func() {
		states := make([]clusterupgrade.State, clusterupgrade.MaxFetching+3)
		w := nodesToFetch(digestA, states...)
		Expect(w.plan.Prefetch(w.hosts).Order).To(HaveLen(clusterupgrade.MaxFetching))
		for i := range clusterupgrade.MaxFetching {
			w.ordered(i + 1)
		}
		Expect(w.plan.Prefetch(w.hosts).Order).To(BeEmpty())
		w.reports(1, infrav1.HostUpgradeFetched, digestA, "").reports(2, infrav1.HostUpgradeFailed, "", "it is not signed")
		Expect(w.plan.Prefetch(w.hosts).Order).To(HaveLen(2))
	})

	It("does not take a report of a former order for its own", func() {
		w := nodesToFetch("", waiting).reports(1, infrav1.HostUpgradeFetched, digestB, "")
		w.hosts["h-1"].Status.Prefetch.ID = "former"
		Expect(w.plan.Prefetch(w.hosts).Digest).To(BeEmpty())
	})

	It("is waited for before a node begins", func() {
		p := plan([]clusterupgrade.Pool{pool("a", "a", waiting)})
		p.Upgrade.Status.Stages = []infrav1.ClusterUpgradeStage{recorded(clusterupgrade.StagePreflight)}
		Expect(held(p.Hold("a-1", noon))).To(Equal("StageNotReady: its stage Prefetch is not done"))
	})
})
