// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pause_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// pool is the one that a spec upgrades.
type pool struct {
	name string
	// before are its workers by Node, and nodes the names in order.
	before map[string]scenario.Identity
	nodes  []string
	wanted image.Image
}

// newPool sets how many Machines of a pool Cluster API may update concurrently, and how the nodes of the cluster
// are upgraded. It resets what a former spec has set.
func newPool(ctx context.Context, name string, maxUnavailable int, strategy infrav1.NodeUpgradeStrategy) *pool {
	GinkgoHelper()
	p := &pool{name: name, before: map[string]scenario.Identity{}}
	machines, err := cluster.PoolMachines(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	identities, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range machines {
		for _, identity := range identities {
			if identity.MachineUID == string(machines[i].UID) {
				p.before[identity.Node] = identity
			}
		}
	}
	p.nodes = slices.Sorted(maps.Keys(p.before))
	Expect(pauses(ctx)).To(BeEmpty())
	p.setOptions(ctx, strategy)
	_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "machinedeployment", name, "--type", "merge", "--patch",
		fmt.Sprintf(`{"spec":{"rollout":{"strategy":{"rollingUpdate":{"maxUnavailable":%d}}}}}`, maxUnavailable))
	Expect(err).NotTo(HaveOccurred())
	return p
}

func (p *pool) setOptions(ctx context.Context, strategy infrav1.NodeUpgradeStrategy) {
	GinkgoHelper()
	encoded, err := json.Marshal(map[string]any{"strategy": map[string]any{"mode": strategy.Mode, "pauseNodes": strategy.PauseNodes}})
	Expect(err).NotTo(HaveOccurred())
	Expect(cluster.PatchUpgradeOption(ctx, string(encoded))).To(Succeed())
}

// rollOut patches the image of the pool's template.
func (p *pool) rollOut(ctx context.Context, os image.OS) {
	GinkgoHelper()
	p.wanted = suite.Push(ctx, cluster, os)
	Expect(cluster.PatchPool(ctx, p.name, p.wanted)).To(Succeed())
}

// expectUpgraded waits for the end of the rollout, and asserts that nothing but the OS has changed.
func (p *pool) expectUpgraded(ctx context.Context) {
	GinkgoHelper()
	Expect(cluster.AwaitPool(ctx, p.name, p.wanted)).To(Succeed())
	runs[p.name] = p.wanted
	p.expectClean(ctx)
	identities, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, identity := range p.before {
		Expect(identities).To(ContainElement(identity), "Machine, Node and provider ID are the same")
	}
}

// expectClean waits until no object has a trace of the rollout, except for its outcome on the hosts.
func (p *pool) expectClean(ctx context.Context) {
	GinkgoHelper()
	Eventually(pauses).WithContext(ctx).Should(BeEmpty())
	for _, node := range p.nodes {
		Eventually(p.marks).WithContext(ctx).WithArguments(node).Should(Or(
			Equal(scenario.Clean), Equal(scenario.Marks{})), node)
	}
}

// marks on the objects of a worker.
func (p *pool) marks(ctx context.Context, node string) (scenario.Marks, error) {
	return cluster.Marks(ctx, p.before[node])
}

// rollout is the ElementalRollout that brings the Machines of the pool to the image.
func (p *pool) rollout(ctx context.Context) (string, error) {
	template := &infrav1.ElementalMachineTemplate{}
	err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: p.name}, template)
	return strings.Join(template.Status.CurrentRollouts, ","), err
}

// attempts for the wanted image that have not ended, by Node.
func (p *pool) attempts(ctx context.Context) (map[string]infrav1.ElementalHostUpgrade, error) {
	list, err := cluster.Attempts(ctx)
	found := map[string]infrav1.ElementalHostUpgrade{}
	for i := range list {
		if list[i].Spec.ImageURI == p.wanted.URI() && list[i].Status.CompletionTime == nil && list[i].DeletionTimestamp.IsZero() {
			found[list[i].Status.NodeName] = list[i]
		}
	}
	return found, err
}

// waiting are the Nodes whose attempts wait for a person.
func (p *pool) waiting(ctx context.Context) ([]string, error) {
	attempts, err := p.attempts(ctx)
	nodes := []string{}
	for node := range attempts {
		if conditions.GetReason(new(attempts[node]), infrav1.UpgradeProgressingCondition) == "Approve" {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes, err
}

// runsWanted reports whether a worker's host has booted the wanted image.
func (p *pool) runsWanted(ctx context.Context, node string) (bool, error) {
	host := &infrav1.ElementalHost{}
	err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: node}, host)
	return host.Status.OS.Digest == p.wanted.PlatformDigest, err
}

// pauses of all Nodes as "pause by rollout", without those that have none.
func pauses(ctx context.Context) (map[string]string, error) {
	nodes, err := cluster.Nodes(ctx)
	found := map[string]string{}
	for i := range nodes {
		pause, paused := nodes[i].Annotations[infrav1.NodeUpgradePauseAnnotation]
		by, noted := nodes[i].Annotations[infrav1.PausedByAnnotation]
		if paused || noted {
			found[nodes[i].Name] = pause + " by " + by
		}
	}
	return found, err
}

// pausedBy is what pauses returns when these nodes are paused by a rollout.
func pausedBy(rollout string, nodes ...string) map[string]string {
	expected := map[string]string{}
	for _, node := range nodes {
		expected[node] = rollout + " by " + rollout
	}
	return expected
}

// awaitPaused waits until the nodes, and no others, are paused by the pool's rollout.
func (p *pool) awaitPaused(ctx context.Context, nodes ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		rollout, err := p.rollout(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rollout).NotTo(BeEmpty())
		g.Expect(pauses(ctx)).To(Equal(pausedBy(rollout, nodes...)))
	}).Should(Succeed())
}

// resume takes the pause off a Node, as a person does.
func resume(ctx context.Context, node string) {
	GinkgoHelper()
	_, err := theLab.WorkloadKubectl(ctx, "annotate", "node", node, infrav1.NodeUpgradePauseAnnotation+"-")
	Expect(err).NotTo(HaveOccurred())
}

// approve sets spec.approved of the attempt on a Node, as a person does.
func (p *pool) approve(ctx context.Context, node string) {
	GinkgoHelper()
	attempts, err := p.attempts(ctx)
	Expect(err).NotTo(HaveOccurred())
	_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalhostupgrade", attempts[node].Name,
		"--type", "merge", "--patch", `{"spec":{"approved":true}}`)
	Expect(err).NotTo(HaveOccurred())
}

// cordoned are the Nodes that are not schedulable.
func cordoned(ctx context.Context) ([]string, error) {
	nodes, err := cluster.Nodes(ctx)
	found := []string{}
	for i := range nodes {
		if nodes[i].Spec.Unschedulable {
			found = append(found, nodes[i].Name)
		}
	}
	return found, err
}

// said is a condition of the ElementalCluster.
func said(conditionType string) func(context.Context) (*metav1.Condition, error) {
	return func(ctx context.Context) (*metav1.Condition, error) {
		elemental := &infrav1.ElementalCluster{}
		err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}, elemental)
		return conditions.Get(elemental, conditionType), err
	}
}
