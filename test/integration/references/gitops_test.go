// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	// every is the interval at which a tool restores a reference.
	every = time.Second
	// applies is the interval at which a tool applies a template.
	applies = 3 * time.Second
)

// tool keeps something as it is in git, as a GitOps tool does.
type tool struct{ git atomic.Pointer[string] }

// keep restores the reference of the MachineDeployment to a template continuously, until the spec ends.
func keep(template string) *tool {
	return run(every, &template, func(ctx context.Context, template string) error {
		now, err := reference(ctx)
		if err != nil || now == template {
			return err
		}
		return pointTo(ctx, template)
	})
}

// run a tool that restores what is in git at an interval, until the spec ends. A webhook may reject that, and the tool retries.
func run(interval time.Duration, git *string, restore func(ctx context.Context, git string) error) *tool {
	t := &tool{}
	t.git.Store(git)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
			_ = restore(ctx, *t.git.Load())
			return false, nil
		})
	}()
	DeferCleanup(func() {
		stop()
		<-ended
	})
	return t
}

// commit rotates by name: a template with a new name, and the reference to it.
func (t *tool) commit(ctx context.Context, os image.Image) {
	GinkgoHelper()
	template := newTemplate(ctx, os)
	t.git.Store(&template)
}

// keepImage has a GitOps tool apply a template with an image again and again, server-side and by force, until the spec ends.
func keepImage(template string, os image.Image) *tool {
	uri := os.URI()
	return run(applies, &uri, func(ctx context.Context, uri string) error {
		manifest := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"osVersionManagement": map[string]any{infrav1.OSVersionKey: map[string]any{"imageURI": uri}},
		}}}}}
		manifest.SetGroupVersionKind(infrav1.GroupVersion.WithKind("ElementalMachineTemplate"))
		manifest.SetNamespace(cluster.Namespace())
		manifest.SetName(template)
		return cluster.Lab.Kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(manifest), client.FieldOwner("gitops"), client.ForceOwnership)
	})
}

// imageOf a template.
func imageOf(ctx context.Context, template string) (string, error) {
	object := &infrav1.ElementalMachineTemplate{}
	err := cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: template}, object)
	return osversion.Image(object.Spec.Template.Spec.OSVersionManagement), err
}

var _ = Describe("A GitOps tool that applies a template every three seconds", func() {
	It("has each host upgraded once by a commit, and takes back what a user patches", func(ctx SpecContext) {
		template, former := atRest(ctx), running
		gitops := keepImage(template, former)
		before := upgrades()
		wanted := suite.Push(ctx, cluster, image.OS{})
		uri := wanted.URI()
		gitops.git.Store(&uri)
		Eventually(imageOf).WithContext(ctx).WithArguments(template).Should(Equal(uri))
		reaches(ctx, wanted)
		for host, count := range upgrades() {
			Expect(count).To(Equal(before[host]+1), host)
		}

		By("patching an image that is not in git")
		release := holdWriting()
		byHand := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchPool(ctx, template, byHand)).To(Succeed())
		Eventually(imageOf).WithContext(ctx).WithArguments(template).Should(Equal(uri), "the tool has put it back")
		release()
		Expect(cluster.AwaitRolledOut(ctx, template)).To(Succeed())
		reaches(ctx, wanted)
	})
})

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
