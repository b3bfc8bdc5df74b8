// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/wait"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// every is the sync interval of the tool.
const every = time.Second

// tool keeps the reference of the MachineDeployment as it is in git, as a GitOps tool does.
type tool struct{ git atomic.Pointer[string] }

// keep restores the reference to a template continuously, until the spec ends.
func keep(template string) *tool {
	t := &tool{}
	t.git.Store(&template)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = wait.PollUntilContextCancel(ctx, every, true, t.sync)
	}()
	DeferCleanup(func() {
		stop()
		<-ended
	})
	return t
}

// sync tries once; a webhook may reject it, and the tool retries.
func (t *tool) sync(ctx context.Context) (bool, error) {
	if now, err := reference(ctx); err == nil && now != *t.git.Load() {
		_ = pointTo(ctx, *t.git.Load())
	}
	return false, nil
}

// commit rotates by name: a template with a new name, and the reference to it.
func (t *tool) commit(ctx context.Context, os image.Image) {
	GinkgoHelper()
	template := newTemplate(ctx, os)
	t.git.Store(&template)
}

var _ = Describe("A GitOps tool that keeps the reference of a patched template", func() {
	const reverted = "True/" + infrav1.RevertedByOtherReason
	// expectNoFight asserts that we wrote the reference once, and report that it was reverted.
	expectNoFight := func(ctx context.Context, template string, since time.Time) {
		GinkgoHelper()
		Eventually(conditionOf).WithContext(ctx).WithArguments(template, infrav1.ReferenceRevertedCondition).Should(HavePrefix(reverted))
		Eventually(told).WithContext(ctx).WithArguments(infrav1.EventReferenceReverted).
			Should(ContainElement(And(HavePrefix("MachineDeployment workers: "), ContainSubstring(template))))
		Consistently(reference, calm).WithContext(ctx).Should(Equal(template))
		Expect(referencesWritten(since)).To(Equal(1), "the reference is written once")
		expectKept(ctx)
	}

	It("reverts our rotation immediately: nothing is lost, and a rotation by name reaches the hosts (finding 9)", func(ctx SpecContext) {
		template, since := atRest(ctx), time.Now()
		wanted := suite.Push(ctx, cluster, image.OS{})
		gitops := keep(template)
		release := holdWriting() // a host may already have been asked to upgrade
		Expect(cluster.PatchPool(ctx, template, wanted)).To(Succeed())
		expectNoFight(ctx, template, since)
		release()
		Eventually(upToDate).WithContext(ctx).Should(ContainElement("False/"+infrav1.TemplateDiffersReason),
			"Cluster API takes these Machines for up to date")

		gitops.commit(ctx, wanted)
		reaches(ctx, wanted)
		Eventually(conditionOf).WithContext(ctx).WithArguments(template, infrav1.ReferenceRevertedCondition).Should(HavePrefix("False/"))
		Eventually(upToDate).WithContext(ctx).Should(HaveEach("True"))
	})

	It("reverts it in the middle: one host is upgraded, the other reports that it is not (finding 9)", func(ctx SpecContext) {
		template, since := atRest(ctx), time.Now()
		wanted := suite.Push(ctx, cluster, image.OS{})
		attempt, release := begin(ctx, template, wanted)
		first := attempt.Spec.HostName
		gitops := keep(template)
		expectNoFight(ctx, template, since)
		release()
		Eventually(madeFrom).WithContext(ctx).Should(HaveEach(template))
		Eventually(upToDate).WithContext(ctx).Should(And(
			HaveKeyWithValue(first, "True"), ContainElement("False/"+infrav1.TemplateDiffersReason)))

		before := upgrades()
		gitops.commit(ctx, wanted)
		reaches(ctx, wanted)
		Expect(upgrades()).To(HaveKeyWithValue(first, before[first]), "nothing is done on the host that runs it")
		Expect(referencesWritten(since)).To(Equal(1))
		Eventually(upToDate).WithContext(ctx).Should(HaveEach("True"))
	})

	It("reverts it at the end: all hosts stay upgraded (finding 9)", func(ctx SpecContext) {
		template, since := atRest(ctx), time.Now()
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchPool(ctx, template, wanted)).To(Succeed())
		reaches(ctx, wanted)
		before := upgrades()
		keep(template)
		expectNoFight(ctx, template, since)
		Eventually(madeFrom).WithContext(ctx).Should(HaveEach(template))
		reaches(ctx, wanted)
		Expect(upgrades()).To(Equal(before), "the hosts run it already")
		Eventually(upToDate).WithContext(ctx).Should(HaveEach("True"))
	})
})
