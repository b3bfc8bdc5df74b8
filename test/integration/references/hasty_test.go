// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A template that is patched repeatedly", func() {
	It("is rolled out when it is patched back to its former content (B, then A again)", func(ctx SpecContext) {
		template, former, since := atRest(ctx), running, time.Now()
		other := suite.Push(ctx, cluster, image.OS{})
		for _, wanted := range []image.Image{other, former} {
			Expect(cluster.PatchPool(ctx, template, wanted)).To(Succeed())
			reaches(ctx, wanted)
		}
		Expect(reference(ctx)).To(Equal(template))
		Expect(referencesWritten(since)).To(BeZero())
		Eventually(openRollouts).WithContext(ctx).WithArguments(template).Should(BeEmpty())
	})

	It("upgrades the hosts to the last of ten patches, with one attempt per host at a time", func(ctx SpecContext) {
		const pause = 3 * time.Second
		template := atRest(ctx)
		active := watchAttempts(ctx)
		var last image.Image
		for range 10 {
			last = suite.Push(ctx, cluster, image.OS{})
			Expect(cluster.PatchPool(ctx, template, last)).To(Succeed())
			// Some of them reach an attempt; others are superseded before that.
			paused, cancel := context.WithTimeout(ctx, pause)
			_ = scenario.Await(paused, "the patch to be rolled out", func(ctx context.Context) (string, error) {
				attempt, err := attemptFor(ctx, last)
				return map[bool]string{true: "no attempt"}[attempt.Name == ""], err
			})
			cancel()
		}
		reaches(ctx, last)
		Expect(active.most()).To(Equal(1), "attempts of a host that had not ended, at a time")
		Eventually(openRollouts).WithContext(ctx).WithArguments(template).Should(BeEmpty())
		Eventually(upToDate).WithContext(ctx).Should(HaveEach("True"))
	})
})

// attempts counts the unfinished attempts of each host.
type attempts struct {
	mu     sync.Mutex
	active map[string]map[string]bool
	peak   int
}

// watchAttempts counts from now on, until the spec ends.
func watchAttempts(ctx context.Context) *attempts {
	GinkgoHelper()
	a := &attempts{active: map[string]map[string]bool{}}
	suite.Follow(ctx, cluster.Lab.Kube, &infrav1.ElementalHostUpgradeList{}, func(event watch.Event) bool {
		if attempt, isAttempt := event.Object.(*infrav1.ElementalHostUpgrade); isAttempt {
			a.record(attempt, event.Type == watch.Deleted)
		}
		return false
	}, client.InNamespace(cluster.Namespace()))
	return a
}

func (a *attempts) record(attempt *infrav1.ElementalHostUpgrade, deleted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	host := attempt.Spec.HostName
	if a.active[host] == nil {
		a.active[host] = map[string]bool{}
	}
	switch attempt.Status.Phase {
	case "", infrav1.UpgradePending, infrav1.UpgradeProgressing:
		a.active[host][attempt.Name] = true
	default:
		deleted = true
	}
	if deleted {
		delete(a.active[host], attempt.Name)
	}
	a.peak = max(a.peak, len(a.active[host]))
}

func (a *attempts) most() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.peak
}
