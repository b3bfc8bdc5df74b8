// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var digestB = "sha256:" + strings.Repeat("b", 64)

var _ = Describe("Stage Prefetch of an ElementalClusterUpgrade", func() {
	var w *world

	BeforeEach(func() {
		w = newWorld()
		apiserver.Change(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}, func(e *infrav1.ElementalCluster) {
			e.Spec.NodeUpgradeOption.Prefetch = infrav1.PrefetchDownload
		})
	})

	// fetched says that the host of an attempt has the image.
	fetched := func(attempt *infrav1.ElementalHostUpgrade) {
		GinkgoHelper()
		apiserver.ChangeStatus(ctx, c, attempt, func(u *infrav1.ElementalHostUpgrade) {
			u.Status.Digest = digestB
			u.Status.Steps = []infrav1.UpgradeStepStatus{{Name: attempts.StepPrefetch, StartTime: metav1.NewTime(w.clock.Now()), CompletionTime: new(metav1.NewTime(w.clock.Now()))}}
		})
	}

	It("changes one template until its hosts have resolved the image, and then the others, which get the same digest", func() {
		w.begin()
		Expect(w.upgrade.Status.Stage).To(Equal("Prefetch (2/5)"))
		Expect([]string{w.image("a"), w.image("b")}).To(Equal([]string{imageB, imageA}))
		Expect(w.upgrade.Status.Message).To(Equal("0 of 2 nodes have the image; waiting for an ElementalHostUpgrade of node-a, node-b"))

		a := w.attempt("a", infrav1.UpgradeProgressing, false)
		Expect(w.settle().Message).To(Equal("0 of 2 nodes have the image; fetching it: node-a"))
		Expect(w.hold("a")).To(Equal(infrav1.HoldStageNotReady))
		fetched(a)
		Expect(w.settle().Digest).To(Equal(digestB))
		Expect(w.upgrade.Annotations).To(HaveKeyWithValue(infrav1.ResolvedDigestAnnotation, rollout.Pin(imageB, digestB)))
		Expect(w.image("b")).To(Equal(imageB))

		b := w.attempt("b", infrav1.UpgradeProgressing, false)
		apiserver.ChangeStatus(ctx, c, b, func(u *infrav1.ElementalHostUpgrade) {
			u.Status.Message, u.Status.Holds = "it has no space", []infrav1.UpgradeHold{*infrav1.NewHold(infrav1.HoldImageNotFetched, "ElementalHost/host-b", "it has no space")}
			u.Status.Holds[0].Since = metav1.NewTime(w.clock.Now())
		})
		Expect(w.settle().Message).To(Equal("node node-b: it has no space"))
		Expect(w.hold("a")).To(Equal(infrav1.HoldStageNotReady))
		fetched(b)
		Expect(w.settle().Stage).To(Equal("a (3/5)"))
		Expect(w.hold("a")).To(BeEmpty())
		Expect(w.upgrade.Status.Stages).To(ContainElement(And(HaveField("Name", "Prefetch"), HaveField("Nodes", BeEquivalentTo(2)), HaveField("NodesDone", BeEquivalentTo(2)))))
	})

	It(`goes on after "clusterctl move", which drops the status, with the same digest`, func() {
		w.begin()
		a := w.attempt("a", infrav1.UpgradeProgressing, false)
		fetched(a)
		w.settle()
		apiserver.ChangeStatus(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Status = infrav1.ElementalClusterUpgradeStatus{} })
		apiserver.ChangeStatus(ctx, c, a, func(u *infrav1.ElementalHostUpgrade) { u.Status = infrav1.ElementalHostUpgradeStatus{} })
		Expect(w.settle()).To(And(HaveField("Stage", "Prefetch (2/5)"), HaveField("Digest", digestB)))
	})

	It("fails where a host cannot verify the image, and changes no further template", func() {
		w.begin()
		attempt := w.attempt("a", infrav1.UpgradeFailed, false)
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeFailed), HaveField("Stage", "Prefetch (2/5)"),
			HaveField("Message", ContainSubstring("ElementalHostUpgrade "+attempt.Name+" is Failed"))))
		Expect(w.image("b")).To(Equal(imageA))
	})

	It("does not have later stages soak again", func() {
		apiserver.Change(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}, func(e *infrav1.ElementalCluster) {
			e.Spec.NodeUpgradeOption.Prefetch = infrav1.PrefetchNone
		})
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
		apiserver.Change(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}, func(e *infrav1.ElementalCluster) {
			e.Spec.NodeUpgradeOption.Prefetch = infrav1.PrefetchDownload
		})
		Expect(w.settle()).To(And(HaveField("Stage", "Prefetch (2/5)"),
			HaveField("Stages", ContainElement(And(HaveField("Name", "b"), HaveField("CompletionTime", Equal(soaked)))))))
	})

	It("waits for no host where the cluster does not want it", func() {
		apiserver.Change(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}, func(e *infrav1.ElementalCluster) {
			e.Spec.NodeUpgradeOption = infrav1.NodeUpgradeOption{Prefetch: infrav1.PrefetchNone}
		})
		w.begin()
		Expect(w.upgrade.Status.Stage).To(Equal("a (3/5)"))
		Expect([]string{w.image("a"), w.image("b")}).To(HaveEach(imageB))
	})

	It("changes no further template while it is paused", func() {
		w.begin()
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Paused = true })
		fetched(w.attempt("a", infrav1.UpgradeProgressing, false))
		Expect(w.settle()).To(And(HaveField("Message", "paused: set spec.paused to false to go on"), HaveField("Digest", digestB)))
		Expect(w.image("b")).To(Equal(imageA))
	})
})
