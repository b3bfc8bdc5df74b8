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
	It("has nothing to revert, and a rotation by name reaches the hosts (finding 9)", func(ctx SpecContext) {
		template, since := atRest(ctx), time.Now()
		gitops := keep(template)
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchPool(ctx, template, wanted)).To(Succeed())
		reaches(ctx, wanted)
		Expect(referencesWritten(since)).To(BeZero())
		Expect(madeFrom(ctx)).To(HaveEach(template))

		before := upgrades()
		gitops.commit(ctx, wanted)
		Eventually(madeFrom).WithContext(ctx).ShouldNot(ContainElement(template))
		reaches(ctx, wanted)
		Expect(upgrades()).To(Equal(before), "the hosts run it already")

		wanted = suite.Push(ctx, cluster, image.OS{})
		gitops.commit(ctx, wanted)
		reaches(ctx, wanted)
		Expect(referencesWritten(since)).To(BeZero())
		Eventually(upToDate).WithContext(ctx).Should(HaveEach("True"))
	})
})
