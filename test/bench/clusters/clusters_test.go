// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// look is the interval at which the progress of upgrades is polled.
const look = 250 * time.Millisecond

var _ = It("nodes of many clusters are upgraded while some clusters respond slowly", func(ctx SpecContext) {
	b := &bench{lab: suite.StartLab(ctx, lab.Options{})}
	all := b.newSites(ctx, count)
	b.slow, b.others = all[:count/oneIn], all[count/oneIn:]
	b.upgrade(ctx, 0) // fills caches
	without := b.upgrade(ctx, 0)
	report(without, b.upgrade(ctx, delay))
})

// bench is a lab with Clusters, some of which can be given slow links.
type bench struct {
	lab          *lab.Lab
	slow, others []*site
	// rounds so far, for the names of images.
	rounds int
}

// upgrade upgrades a node in each of the fast Clusters, with the links of the slow Clusters delayed. Those have two
// nodes to upgrade, the first of them since before the delay: its attempt is running when they become slow.
func (b *bench) upgrade(ctx context.Context, by time.Duration) round {
	GinkgoHelper()
	b.rounds++
	wanted := fmt.Sprintf("registry.example.com/elemental-os:r%d", b.rounds)
	p := newProgress(b.lab, wanted)
	b.ask(ctx, b.slow, pools[0], wanted)
	Eventually(p.started).WithContext(ctx).WithPolling(look).Should(Equal(len(b.slow)))
	b.delay(by)
	asked := make(chan struct{})
	go func() { // admission of the request reads the workload cluster
		defer GinkgoRecover()
		defer close(asked)
		b.ask(ctx, b.slow, pools[1], wanted)
	}()
	used := b.sample(ctx, "process_cpu_seconds_total")
	p.began = time.Now()
	b.ask(ctx, b.others, pools[0], wanted)
	Eventually(p.endedOf).WithContext(ctx).WithArguments(b.others).WithPolling(look).Should(Equal(len(b.others)))
	result := round{Seconds: p.seconds, CPU: b.sample(ctx, "process_cpu_seconds_total") - used}
	if by > 0 {
		result.Slow = len(b.slow)
	}
	b.delay(0)
	Eventually(asked).WithContext(ctx).Should(BeClosed())
	Eventually(p.ended).WithContext(ctx).WithPolling(look).Should(Equal(len(b.others) + len(pools)*len(b.slow)))
	return result
}

// ask requests an image in a pool of each of the Clusters.
func (b *bench) ask(ctx context.Context, sites []*site, pool, wanted string) {
	GinkgoHelper()
	for _, one := range sites {
		Expect(one.ask(ctx, pool, wanted)).To(Succeed())
	}
}

func (b *bench) delay(by time.Duration) {
	for _, one := range b.slow {
		one.link.Delay(by)
	}
}

func (b *bench) sample(ctx context.Context, name string) float64 {
	GinkgoHelper()
	samples, err := b.lab.Metrics(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(samples).To(HaveKey(name))
	return samples[name]
}
