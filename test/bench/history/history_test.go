// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	// perHost is the number of attempts that the controller keeps.
	perHost = 10
	// look is the interval at which the manager's CPU time is read; idle is what it may use in that time when it has
	// nothing to do.
	look = 2 * time.Second
	idle = 0.1
	// rollouts are how many are measured with as many ended attempts.
	rollouts = 5
)

var _ = It("three nodes are upgraded in a namespace with the ended attempts of a fleet", func(ctx SpecContext) {
	cluster := suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{}), scenario.Options{})
	rollOut(ctx, cluster, 0) // the first one fills caches, and its attempts are copied as history
	costs := []cost{median(ctx, cluster, 0)}
	model, err := cluster.Attempts(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(model[0].Status.Phase).To(Equal(infrav1.UpgradeSucceeded))
	hosts := map[string]string{}
	for i := range past / perHost {
		name := fmt.Sprintf("fleet-node-%d", i)
		hosts[name] = name
	}
	Expect(cluster.AddHistory(ctx, &model[0], "fleet", hosts)).To(Succeed())
	report(append(costs, median(ctx, cluster, past)))
})

// median is the cost of several rollouts. One alone says little about seconds: Cluster API asks every five seconds whether an
// update is done, and a node more or less that is done just after that is as much as what is looked for.
func median(ctx context.Context, cluster *scenario.Cluster, past int) cost {
	GinkgoHelper()
	costs := make([]cost, rollouts)
	for i := range costs {
		costs[i] = rollOut(ctx, cluster, past)
	}
	middle := func(of func(cost) float64) float64 {
		values := make([]float64, rollouts)
		for i := range costs {
			values[i] = of(costs[i])
		}
		slices.Sort(values)
		return values[rollouts/2]
	}
	return cost{
		Past: past, Seconds: middle(func(c cost) float64 { return c.Seconds }), CPU: middle(func(c cost) float64 { return c.CPU }),
		Memory: middle(func(c cost) float64 { return c.Memory }),
	}
}

// rollOut rolls out a new image to all nodes.
func rollOut(ctx context.Context, cluster *scenario.Cluster, past int) cost {
	GinkgoHelper()
	wanted := suite.Push(ctx, cluster, image.OS{})
	rest(ctx, cluster)
	used, began := sample(ctx, cluster, "process_cpu_seconds_total"), time.Now()
	Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
	Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
	return cost{
		Past: past, Seconds: time.Since(began).Seconds(), CPU: sample(ctx, cluster, "process_cpu_seconds_total") - used,
		Memory: sample(ctx, cluster, "process_resident_memory_bytes") / (1 << 20),
	}
}

// rest waits until the manager has nothing left to do.
func rest(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	last := sample(ctx, cluster, "process_cpu_seconds_total")
	Eventually(func() float64 {
		used := sample(ctx, cluster, "process_cpu_seconds_total") - last
		last += used
		return used
	}).WithPolling(look).MustPassRepeatedly(3).Should(BeNumerically("<", idle))
}

func sample(ctx context.Context, cluster *scenario.Cluster, name string) float64 {
	GinkgoHelper()
	samples, err := cluster.Lab.Metrics(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(samples).To(HaveKey(name))
	return samples[name]
}
