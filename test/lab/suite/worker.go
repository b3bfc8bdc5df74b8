// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// soon bounds what has to happen, look is the interval at which it is polled.
	soon = process.Patience
	look = 100 * time.Millisecond
)

// Writes are the calls of `elemental upgrade` on a host since then: those that completed, and those that were killed or
// are still running. Calls after the host's next reset are left out, because they are for another Machine.
func Writes(host *lab.Host, since time.Time) (finished, unfinished int) {
	GinkgoHelper()
	all, err := host.Calls()
	Expect(err).NotTo(HaveOccurred())
	for _, call := range all {
		switch {
		case call.Start.Before(since):
		case call.Is("elemental", "reset"):
			return finished, unfinished
		case !call.Is("elemental", "upgrade"):
		case call.RC == 0:
			finished++
		default:
			unfinished++
		}
	}
	return finished, unfinished
}

// HoldHost blocks a host in phases of the next upgrade (host.Hold), until it is released or the spec ends.
func HoldHost(host *lab.Host, phases ...infrav1.HostUpgradePhase) *lab.Held {
	GinkgoHelper()
	names := []string{}
	for _, phase := range phases {
		names = append(names, string(phase))
	}
	held, err := host.Hold(names...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(held.Close)
	return held
}

// HeldHosts are blocked hosts, by name.
type HeldHosts map[string]*lab.Held

// HoldHosts blocks each host of a lab that reaches one of the phases, until it is released or the spec ends.
func HoldHosts(l *lab.Lab, phases ...infrav1.HostUpgradePhase) HeldHosts {
	GinkgoHelper()
	held := HeldHosts{}
	for _, host := range l.Hosts() {
		held[host.Name()] = HoldHost(host, phases...)
	}
	return held
}

// Stopped counts those that are blocked in the phase.
func (h HeldHosts) Stopped(phase infrav1.HostUpgradePhase) int {
	count := 0
	for _, held := range h {
		select {
		case <-held.Came(string(phase)):
			count++
		default:
		}
	}
	return count
}

// Release releases those from the phase that are not excepted.
func (h HeldHosts) Release(phase infrav1.HostUpgradePhase, except ...string) {
	for name, held := range h {
		if !slices.Contains(except, name) {
			held.Release(string(phase))
		}
	}
}

// WebOn counts the Pods of Web that run on a node of the lab's workload cluster. The status of their Deployment may be
// outdated after an outage.
func WebOn(ctx context.Context, l *lab.Lab, node string) (int, error) {
	pods := &corev1.PodList{}
	err := l.WorkloadKube.List(ctx, pods, client.MatchingLabels(Web(0).Labels))
	running := 0
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName == node && pods.Items[i].Status.Phase == corev1.PodRunning && pods.Items[i].DeletionTimestamp.IsZero() {
			running++
		}
	}
	return running, err
}

// DeleteMachine deletes the only Machine of a cluster, and does not wait for its deletion to complete.
func DeleteMachine(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	machines, err := cluster.Machines(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(machines).To(HaveLen(1))
	_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "delete", "machine", machines[0].Name, "--wait=false")
	Expect(err).NotTo(HaveOccurred())
}

// ExpectReplaced waits until the only Machine of a cluster is another one than the former and runs the image, and no
// attempt holds a slot.
func ExpectReplaced(ctx context.Context, cluster *scenario.Cluster, former scenario.Identity, wanted image.Image) {
	GinkgoHelper()
	Eventually(cluster.Identities, 2*soon, look).WithContext(ctx).Should(ConsistOf(And(
		HaveField("MachineUID", Not(Equal(former.MachineUID))), HaveField("Node", Not(BeEmpty())),
	)), "the Machine is replaced")
	Expect(cluster.AwaitWorkers(ctx)).To(Succeed())
	successor, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(ctx context.Context) (*infrav1.ElementalHost, error) {
		host := &infrav1.ElementalHost{}
		return host, cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: successor[0].Node}, host)
	}, soon, look).WithContext(ctx).Should(HaveField("Status.OS.Digest", wanted.PlatformDigest))
	Eventually(func(ctx context.Context) ([]infrav1.UpgradeSlot, error) {
		owner := &infrav1.ElementalCluster{}
		err := cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}, owner)
		return owner.Status.UpgradeSlots, err
	}, soon, look).WithContext(ctx).Should(BeEmpty())
}

// ExpectOneServes waits until one of the two hosts of a cluster serves the only Machine, and the other is available.
func ExpectOneServes(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		hosts, err := cluster.Hosts(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(hosts).To(HaveLen(2))
		free := 0
		for i := range hosts {
			host := &hosts[i]
			g.Expect(host.DeletionTimestamp).To(BeNil(), host.Name)
			g.Expect(host.Labels).To(HaveKeyWithValue(infrav1.InstalledLabel, "true"), host.Name)
			g.Expect(host.Labels).NotTo(HaveKey(infrav1.NeedsResetLabel), host.Name)
			g.Expect(host.Annotations).NotTo(HaveKey(infrav1.BlockMoveAnnotation), host.Name)
			g.Expect(host.Spec.Upgrade).To(BeNil(), host.Name)
			if host.Spec.MachineRef == nil {
				free++
			}
		}
		g.Expect(free).To(Equal(1))
	}, 2*soon, look).WithContext(ctx).Should(Succeed())
}

// PauseElementalMachine pauses an ElementalMachine for our controllers, or unpauses it. Cluster API ignores that.
func PauseElementalMachine(ctx context.Context, cluster *scenario.Cluster, name string, paused bool) {
	GinkgoHelper()
	annotation := clusterv1.PausedAnnotation + "-"
	if paused {
		annotation = clusterv1.PausedAnnotation + "="
	}
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "annotate", "elementalmachine", name, annotation)
	Expect(err).NotTo(HaveOccurred())
}
