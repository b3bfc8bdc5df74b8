// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"maps"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
)

const (
	kibi, mebi = 1 << 10, 1 << 20
	// resting and restingEach are the CPU seconds that an idle manager may use per look: in total, and in addition for
	// each node.
	resting, restingEach = 0.1, 0.0005
	// looks is how many consecutive looks must find the same.
	looks = 3
	// objectsOfNode is the minimum number of objects of a node that a new leader reconciles: its host and its machine.
	objectsOfNode = 2
)

// Names of the sampled metrics of the manager.
const (
	cpu        = "process_cpu_seconds_total"
	memory     = "process_resident_memory_bytes"
	reconciles = "controller_runtime_reconcile_total{"
	requested  = "rest_client_requests_total{"
	reported   = "elemental_hostapi_reports_total{"
	depth      = "workqueue_depth{"
	working    = "controller_runtime_active_workers{"
	// received is the number of bytes from both API servers, which the lab counts; memoryNow is the name of the memory
	// after a difference is computed.
	received  = "received"
	memoryNow = "memory now"
)

// sample is a scrape of the manager's metrics, by name and labels.
type sample map[string]float64

// sum of all samples whose names have this prefix, and which have all of these labels.
func (s sample) sum(name string, labels ...string) float64 {
	total := 0.0
	for of, value := range s {
		if strings.HasPrefix(of, name) && hasAll(of, labels) {
			total += value
		}
	}
	return total
}

// by sums the samples whose names have this prefix by the value of a label. Values that have none are left out.
func (s sample) by(name, label string) map[string]float64 {
	sums := map[string]float64{}
	for of, value := range s {
		_, after, labelled := strings.Cut(of, label+`="`)
		if labelled && value != 0 && strings.HasPrefix(of, name) {
			of, _, _ := strings.Cut(after, `"`)
			sums[of] += value
		}
	}
	return sums
}

func hasAll(name string, labels []string) bool {
	for _, label := range labels {
		if !strings.Contains(name, label) {
			return false
		}
	}
	return true
}

// less is the difference to an earlier sample.
func (s sample) less(before sample) sample {
	added := maps.Clone(s)
	for name, value := range before {
		added[name] -= value
	}
	added[memoryNow] = s[memory]
	return added
}

// sample scrapes the manager.
func (b *bench) sample(ctx context.Context) sample {
	GinkgoHelper()
	samples, err := b.cluster.Lab.Metrics(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(samples).To(And(HaveKey(cpu), HaveKey(memory)))
	samples[received] = b.traffic()
	for _, of := range b.clusters() {
		traffic := b.cluster.Lab.Traffic(of)
		samples[receivedFrom(of)], samples[sentTo(of)] = float64(traffic.Received), float64(traffic.Sent)
	}
	return samples
}

func (b *bench) clusters() []*kube.Cluster {
	return []*kube.Cluster{b.cluster.Lab.Management, b.cluster.Workload()}
}

func receivedFrom(cluster *kube.Cluster) string { return "received from " + cluster.Name() }

func sentTo(cluster *kube.Cluster) string { return "sent to " + cluster.Name() }

// traffic is the number of bytes that the manager, and its predecessors, have received from API servers.
func (b *bench) traffic() float64 {
	total := 0.0
	for _, of := range b.clusters() {
		total += float64(b.cluster.Lab.Traffic(of).Received)
	}
	return total
}

// requests to an API server for each node that was upgraded.
func (b *bench) requests(spent sample, to *kube.Cluster) requests {
	nodes, host := float64(b.upgraded), `host="`+to.ServiceName()+`"`
	reads, all := spent.sum(requested, host, `method="GET"`), spent.sum(requested, host)
	return requests{
		Reads: reads / nodes, Writes: (all - reads) / nodes,
		Received: spent[receivedFrom(to)] / kibi / nodes, Sent: spent[sentTo(to)] / kibi / nodes,
	}
}

// rest waits until the manager has nothing left to do.
func (b *bench) rest(ctx context.Context) {
	GinkgoHelper()
	last := b.sample(ctx)[cpu]
	most := resting + restingEach*float64(b.cluster.Options.Workers)
	Eventually(func() float64 {
		used := b.sample(ctx)[cpu] - last
		last += used
		return used
	}).WithPolling(look).MustPassRepeatedly(looks).Should(BeNumerically("<", most))
}

// awaitSettled waits until the manager, which has just been started, has reconciled everything: its queues are empty,
// no worker is busy, and it has reconciled at least as often as there are objects, but not since the previous look. It
// returns when that was first the case, and the cost until then.
func (b *bench) awaitSettled(ctx context.Context) (time.Time, sample) {
	GinkgoHelper()
	const often = time.Second
	all := float64(b.cluster.Options.Workers * objectsOfNode)
	first, settled, same, former := time.Time{}, sample{}, 0, 0.0
	Eventually(func(g Gomega) {
		now, at := b.sample(ctx), time.Now()
		total := now.sum(reconciles)
		if now.sum(depth) > 0 || now.sum(working) > 0 || total < all || total != former {
			same = 0
		} else if same++; same == 1 {
			first, settled = at, now
		}
		former = total
		g.Expect(same).To(BeNumerically(">=", looks))
	}).WithContext(ctx).WithPolling(often).Should(Succeed())
	return first, settled
}
