// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"runtime"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/bench/benchmark"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	// most is the number of nodes that are upgraded in a cluster, and models that of nodes whose
	// attempts are copied.
	most, models = 20, 1
	// idleTime is how long the idle manager is measured.
	idleTime = time.Minute
)

var _ = Describe("The nodes of a pool are upgraded", Ordered, func() {
	results := []figures{}
	for _, size := range sizes {
		for _, version := range versions {
			It(fmt.Sprintf("in a cluster of %d nodes, by version %q", size, version.name), func(ctx SpecContext) {
				results = append(results, measure(ctx, size, version))
				benchmark.Write("rollout", results) // keeps the results so far if the next size fails
			})
		}
	}
	AfterAll(func() {
		grown, compared := table(ofVersion(results, "")), comparison(results)
		AddReportEntry("What an upgrade costs by the size of the cluster", grown+compared, ReportEntryVisibilityAlways)
	})
})

// measure measures a cluster of that size, in a lab of its own.
func measure(ctx context.Context, size int, by version) figures {
	GinkgoHelper()
	b := newBench(ctx, suite.StartLab(ctx, lab.Options{Metered: true, Provider: by.root}), size)
	result := figures{Version: by.name, Nodes: size, Upgraded: b.upgraded}
	b.addHistory(ctx)
	b.rest(ctx)
	b.measureIdle(ctx, &result)
	b.measureRollout(ctx, &result)
	b.rest(ctx)
	b.measureLeaderChange(ctx, &result)
	return result
}

// measureIdle measures the manager of a cluster in which nothing happens.
func (b *bench) measureIdle(ctx context.Context, result *figures) {
	GinkgoHelper()
	before := b.sample(ctx)
	select {
	case <-ctx.Done():
	case <-time.After(idleTime):
	}
	after := b.sample(ctx)
	result.IdleCPU = (after[cpu] - before[cpu]) / idleTime.Seconds()
	result.Memory = after[memory] / mebi
	result.IdleReceived = (after[received] - before[received]) / kibi / idleTime.Seconds()
}

// measureRollout measures the upgrade of the pool's nodes.
func (b *bench) measureRollout(ctx context.Context, result *figures) {
	GinkgoHelper()
	wanted := suite.Push(ctx, b.cluster, image.OS{})
	before, began, busyBefore := b.sample(ctx), time.Now(), busy()
	Expect(b.cluster.PatchPool(ctx, pool, wanted)).To(Succeed())
	b.awaitImage(ctx, pool, wanted)
	ended := time.Now()
	result.Busy, result.Processors = (busy()-busyBefore).Seconds()/ended.Sub(began).Seconds(), runtime.NumCPU()
	spent := b.sample(ctx).less(before)
	result.Seconds, result.MemoryAfter = ended.Sub(began).Seconds()/float64(b.upgraded), spent[memoryNow]/mebi
	result.CPU, result.Reconciles = spent[cpu]/float64(b.upgraded), spent.sum(reconciles)/float64(b.upgraded)
	result.ReconcilesBy = spent.by(reconciles, "controller")
	result.Management = b.requests(spent, b.cluster.Lab.Management)
	result.Workload = b.requests(spent, b.cluster.Workload())
	result.Reports = spent.sum(reported, `result="written"`) / float64(b.upgraded)
	b.readAudit(ctx, wanted, began, ended, result)
}

// measureLeaderChange kills the manager and restarts it.
func (b *bench) measureLeaderChange(ctx context.Context, result *figures) {
	GinkgoHelper()
	l := b.cluster.Lab
	before, began := b.traffic(), time.Now()
	l.Provider.Process.Kill()
	Expect(l.Provider.Process.Restart()).To(Succeed())
	Expect(l.Provider.AwaitReady(ctx)).To(Succeed())
	settled, after := b.awaitSettled(ctx)
	result.Leader = leaderChange{
		Seconds: settled.Sub(began).Seconds(), CPU: after[cpu], Memory: after[memory] / mebi, Reconciles: after.sum(reconciles),
		ReconcilesBy: after.by(reconciles, "controller"), Received: (after[received] - before) / mebi,
	}
}
