// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var digestB = "sha256:" + strings.Repeat("b", 64)

var _ = Describe("Stage Prefetch of an ElementalClusterUpgrade", func() {
	var w *world

	BeforeEach(func() {
		w = newWorld()
		for _, pool := range []string{"a", "b"} {
			apiserver.ChangeStatus(ctx, c, w.host(pool), func(h *infrav1.ElementalHost) { h.Status.Agent.Prefetches = true })
		}
	})

	// reports what the host of a pool says of its order.
	reports := func(pool string, phase infrav1.HostUpgradePhase, digest, message string) {
		GinkgoHelper()
		apiserver.ChangeStatus(ctx, c, w.host(pool), func(h *infrav1.ElementalHost) {
			h.Status.Prefetch = &infrav1.HostPrefetchStatus{ID: h.Spec.Prefetch.ID, Phase: phase, Digest: digest, Message: message}
		})
	}

	It("has one host resolve the image, and orders the others the digest, before a template is changed", func() {
		w.begin()
		Expect(w.upgrade.Status.Stage).To(Equal("Prefetch (2/5)"))
		Expect(w.host("a").Spec.Prefetch).To(HaveValue(And(HaveField("ImageURI", imageB), HaveField("Digest", BeEmpty()))))
		Expect(w.host("b").Spec.Prefetch).To(BeNil())

		reports("a", infrav1.HostUpgradeFetching, digestB, "")
		Expect(w.settle().Digest).To(Equal(digestB))
		Expect(w.upgrade.Annotations).To(HaveKeyWithValue(infrav1.ResolvedDigestAnnotation, rollout.Pin(imageB, digestB)))
		Expect(w.host("a").Spec.Prefetch.Digest).To(Equal(digestB))
		Expect(w.host("b").Spec.Prefetch.Digest).To(Equal(digestB))

		reports("a", infrav1.HostUpgradeFetched, digestB, "")
		reports("b", infrav1.HostUpgradeFailed, "", "it is not signed")
		Expect(w.settle().Message).To(Equal("node node-b does not have the image: ElementalHost host-b says: it is not signed. Fix that: it tries again"))
		Expect(w.image("a")).To(Equal(imageA))

		By("ordering it anew what a person has mended")
		apiserver.Change(ctx, c, w.template("b"), func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.OSVersionManagement[infrav1.OSVersionKey] = runtime.RawExtension{Raw: []byte(`{"imageUri":"` + imageA + `","upgradeRecovery":true}`)}
		})
		w.settle()
		Expect(w.host("b").Spec.Prefetch).To(HaveValue(And(HaveField("UpgradeRecovery", BeTrue()), HaveField("ID", w.host("a").Spec.Prefetch.ID))))

		reports("b", infrav1.HostUpgradeFetched, digestB, "")
		Expect(w.settle().Stage).To(Equal("a (3/5)"))
		Expect(w.image("a")).To(Equal(imageB))
		Expect(w.upgrade.Status.Stages).To(ContainElement(And(HaveField("Name", "Prefetch"), HaveField("Nodes", BeEquivalentTo(2)), HaveField("NodesDone", BeEquivalentTo(2)))))

		By("running the OS on one of them")
		w.runs("a", imageB)
		Expect(w.settle().Stage).To(Equal("b (4/5)"))
		Expect(w.host("a").Spec.Prefetch).To(BeNil())
		Expect(w.host("b").Spec.Prefetch).NotTo(BeNil())
	})

	It(`goes on after "clusterctl move", which drops the status, with the same digest`, func() {
		w.begin()
		reports("a", infrav1.HostUpgradeFetched, digestB, "")
		w.settle()
		order := w.host("b").Spec.Prefetch
		apiserver.ChangeStatus(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Status = infrav1.ElementalClusterUpgradeStatus{} })
		apiserver.ChangeStatus(ctx, c, w.host("a"), func(h *infrav1.ElementalHost) { h.Status.Prefetch = nil })
		Expect(w.settle()).To(And(HaveField("Stage", "Prefetch (2/5)"), HaveField("Digest", digestB)))
		Expect(w.host("b").Spec.Prefetch).To(Equal(order))
	})

	It("holds at a digest in quarantine", func() {
		w.begin()
		apiserver.Change(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}, func(e *infrav1.ElementalCluster) {
			e.Spec.Quarantine = []infrav1.QuarantinedImage{{Digest: digestB}}
		})
		reports("a", infrav1.HostUpgradeFetched, digestB, "")
		Expect(w.settle().Message).To(HavePrefix("Image/" + digestB + ": is quarantined"))
		Expect(w.host("b").Spec.Prefetch).To(BeNil())
	})

	It("holds at a digest that another Cluster of the namespace has in quarantine, unless that is waived", func() {
		_, other := ownertest.Cluster(w.namespace, "other", infrav1.NodeUpgradeOption{})
		other.Spec.Quarantine = []infrav1.QuarantinedImage{{Digest: digestB}}
		plane.Create(ctx, other)
		w.begin()
		reports("a", infrav1.HostUpgradeFetched, digestB, "")
		Expect(w.settle().Message).To(HavePrefix("Image/" + digestB + ": is quarantined by ElementalCluster other"))
		Expect(w.host("b").Spec.Prefetch).To(BeNil())
		apiserver.Change(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}, func(e *infrav1.ElementalCluster) {
			e.Spec.SkipPreflight = []infrav1.PreflightCheck{"Quarantine"}
		})
		w.settle()
		Expect(w.host("b").Spec.Prefetch).NotTo(BeNil())
	})

	It("does not have later stages soak again", func() {
		for _, pool := range []string{"a", "b"} {
			apiserver.ChangeStatus(ctx, c, w.host(pool), func(h *infrav1.ElementalHost) { h.Status.Agent.Prefetches = false })
		}
		w.begin(func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.Order = []infrav1.PoolStage{{Pools: []string{"b"}, SoakSeconds: ptr.To[int32](60)}, {Pools: []string{"a"}}}
		})
		w.runs("b", imageB)
		soaked := w.settle().Stages[2].CompletionTime
		Expect(soaked).NotTo(BeNil())
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		Expect(w.settle().Stage).To(Equal("a (4/5)"))

		By("a manager that has not recorded the stage")
		apiserver.ChangeStatus(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) {
			u.Status.Stages[1] = infrav1.ClusterUpgradeStage{Name: "Prefetch"}
		})
		apiserver.ChangeStatus(ctx, c, w.host("a"), func(h *infrav1.ElementalHost) { h.Status.Agent.Prefetches = true })
		Expect(w.settle()).To(And(HaveField("Stage", "Prefetch (2/5)"),
			HaveField("Stages", ContainElement(And(HaveField("Name", "b"), HaveField("CompletionTime", Equal(soaked)))))))
	})

	It("fetches nothing where the cluster does not want it", func() {
		apiserver.Change(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}, func(e *infrav1.ElementalCluster) {
			e.Spec.NodeUpgradeOption = infrav1.NodeUpgradeOption{Prefetch: infrav1.PrefetchNone}
		})
		w.begin()
		Expect(w.upgrade.Status.Stage).To(Equal("a (3/5)"))
		Expect(w.host("a").Spec.Prefetch).To(BeNil())
	})

	It("orders no further host while it is paused, and takes the orders back when it is cancelled", func() {
		w.begin()
		reports("a", infrav1.HostUpgradeFetched, digestB, "")
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Paused = true })
		Expect(w.settle().Message).To(Equal("paused: set spec.paused to false to go on"))
		Expect(w.host("b").Spec.Prefetch).To(BeNil())
		Expect(w.host("a").Spec.Prefetch).NotTo(BeNil())
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel = true })
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeCancelled))
		Expect(w.host("a").Spec.Prefetch).To(BeNil())
	})
})
