// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package several_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// rollout is what a spec requests of one or more pools of a cluster, and their former state.
type rollout struct {
	of      *scenario.Cluster
	began   time.Time
	before  []scenario.Identity
	boots   map[string]int
	desired map[string]image.Image
}

// begin patches the templates of pools, as fast as kubectl allows.
func begin(ctx context.Context, of *scenario.Cluster, desired map[string]image.Image) *rollout {
	GinkgoHelper()
	before, err := of.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	r := &rollout{of: of, began: time.Now(), before: before, boots: map[string]int{}, desired: desired}
	for _, identity := range before {
		r.boots[identity.Node] = len(theLab.Host(identity.Node).Boots())
	}
	r.patch(ctx, desired)
	return r
}

// patch requests other images.
func (r *rollout) patch(ctx context.Context, desired map[string]image.Image) {
	GinkgoHelper()
	for pool, os := range desired {
		Expect(r.of.PatchPool(ctx, r.of.TemplateOf(pool), os)).To(Succeed())
		r.desired[pool] = os
	}
}

// expectDone waits for the end of the rollout in all its pools.
func (r *rollout) expectDone(ctx context.Context) {
	GinkgoHelper()
	for pool, os := range r.desired {
		Expect(r.of.AwaitPool(ctx, pool, os)).To(Succeed())
	}
	Eventually(r.leftovers, patience, look).WithContext(ctx).Should(BeEmpty(), "no mark is left")
	Expect(r.of.Identities(ctx)).To(Equal(r.before), "every Machine, Node name and provider ID is the same")
}

// expectOnce asserts that each attempt of the pools succeeded, and each host was rebooted once.
func (r *rollout) expectOnce(ctx context.Context, pools ...string) {
	GinkgoHelper()
	attempts, err := r.of.Attempts(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, pool := range pools {
		for _, node := range nodesOf(ctx, r.of, pool) {
			Expect(len(theLab.Host(node).Boots())-r.boots[node]).To(Equal(1), "%s was rebooted once", node)
			ends := []infrav1.UpgradePhase{}
			for i := range attempts {
				if attempts[i].Spec.HostName == node && attempts[i].Spec.ImageURI == r.desired[pool].URI() {
					ends = append(ends, attempts[i].Status.Phase)
				}
			}
			Expect(ends).To(ConsistOf(infrav1.UpgradeSucceeded), "the attempts on %s", node)
		}
	}
}

// nodes of the cluster.
func (r *rollout) nodes() []string {
	names := []string{}
	for _, identity := range r.before {
		names = append(names, identity.Node)
	}
	return names
}

// atOnce is the maximum number of the nodes that were cordoned, and of their hosts that were triggered, at the same
// time since the rollout began.
func (r *rollout) atOnce(names ...string) (cordoned, triggered int) {
	GinkgoHelper()
	return audit.MaxOverlap(only(names, audit.Cordons(r.events(r.of.Workload())))),
		audit.MaxOverlap(only(names, audit.Triggered(r.events(theLab.Management))))
}

// events of a cluster's audit log since the rollout began.
func (r *rollout) events(of *kube.Cluster) []auditv1.Event {
	GinkgoHelper()
	return slices.DeleteFunc(suite.Audit(of), func(event auditv1.Event) bool { return event.StageTimestamp.Time.Before(r.began) })
}

func only[T any](names []string, all map[string]T) map[string]T {
	chosen := map[string]T{}
	for _, name := range names {
		if value, found := all[name]; found {
			chosen[name] = value
		}
	}
	return chosen
}

// leftovers are marks of attempts on Nodes, hosts, Machines and the ElementalCluster.
func (r *rollout) leftovers(ctx context.Context) ([]string, error) {
	left := []string{}
	nodes, err := r.of.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		if by := nodes[i].Annotations[infrav1.CordonedByAnnotation]; nodes[i].Spec.Unschedulable || by != "" {
			left = append(left, fmt.Sprintf("Node %s is cordoned by %q", nodes[i].Name, by))
		}
	}
	hosts, err := r.of.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	for i := range hosts {
		if hosts[i].Spec.Upgrade != nil || hosts[i].Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending {
			left = append(left, "ElementalHost "+hosts[i].Name+" is asked to upgrade")
		}
	}
	machines, err := r.of.Machines(ctx)
	if err != nil {
		return nil, err
	}
	for i := range machines {
		if _, skips := machines[i].Annotations[infrav1.SkipRemediationByAnnotation]; skips {
			left = append(left, "Machine "+machines[i].Name+" is kept from remediation")
		}
	}
	slots, err := slotsOf(ctx, r.of)
	for _, slot := range slots {
		left = append(left, slot.Upgrade+" holds a slot")
	}
	return left, err
}

// slotsOf are the slots that attempts hold.
func slotsOf(ctx context.Context, of *scenario.Cluster) ([]infrav1.UpgradeSlot, error) {
	owner := &infrav1.ElementalCluster{}
	err := theLab.Kube.Get(ctx, keyOf(of, of.Options.Name), owner)
	return owner.Status.UpgradeSlots, err
}

// nodesOf are the Nodes of a pool.
func nodesOf(ctx context.Context, of *scenario.Cluster, pool string) []string {
	GinkgoHelper()
	machines, err := of.PoolMachines(ctx, pool)
	Expect(err).NotTo(HaveOccurred())
	nodes := []string{}
	for i := range machines {
		nodes = append(nodes, machines[i].Status.NodeRef.Name)
	}
	return nodes
}

func allow(ctx context.Context, of *scenario.Cluster, maxConcurrent int) {
	GinkgoHelper()
	Expect(of.PatchUpgradeOption(ctx, fmt.Sprintf(`{"maxConcurrent":%d,"onRollback":"Uncordon"}`, maxConcurrent))).To(Succeed())
}

func keyOf(of *scenario.Cluster, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: of.Namespace(), Name: name}
}
