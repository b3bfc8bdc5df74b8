// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vanish_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// personal is the annotation of a Node that a person has cordoned.
const personal = "example.com/cordoned-by-a-person"

// expectNoTraces waits until no traces are left of upgrades and of what was deleted: no mark, no slot,
// no finalizer, no cordon, no Node without a Machine, and every host that serves no Machine is
// available again.
func expectNoTraces(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	Eventually(traces, 2*specs.Patience, 4*look).WithContext(ctx).WithArguments(cluster).Should(BeEmpty())
}

// traces describes what is left.
func traces(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	found := []string{}
	for _, look := range []func(context.Context, *scenario.Cluster) ([]string, error){slots, onHosts, onMachines, onNodes, onAttempts} {
		more, err := look(ctx, cluster)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

func slots(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	found, owner := []string{}, &infrav1.ElementalCluster{}
	err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}, owner)
	for _, slot := range owner.Status.UpgradeSlots {
		found = append(found, "slot of "+slot.Upgrade)
	}
	return found, client.IgnoreNotFound(err)
}

func onHosts(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	hosts, err := cluster.Hosts(ctx)
	found := []string{}
	if len(hosts) != cluster.Options.Workers+cluster.Options.Spare {
		found = append(found, "a host that is not registered")
	}
	for i := range hosts {
		host := &hosts[i]
		_, moveless := host.Annotations[infrav1.BlockMoveAnnotation]
		found = appendIf(found, "ElementalHost "+host.Name, map[string]bool{
			"is being deleted":           !host.DeletionTimestamp.IsZero(),
			"has spec.upgrade":           host.Spec.Upgrade != nil,
			"is triggered":               host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending,
			"must not be moved":          moveless,
			"has to be reset":            host.Labels[infrav1.NeedsResetLabel] != "",
			"is not installed":           host.Labels[infrav1.InstalledLabel] != "true",
			"serves nobody and is taken": host.Spec.MachineRef == nil && host.Status.Bootstrapped,
		})
	}
	return found, err
}

func onMachines(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	machines, err := cluster.Machines(ctx)
	found := []string{}
	for i := range machines {
		_, skips := machines[i].Annotations[clusterv1.MachineSkipRemediationAnnotation]
		_, by := machines[i].Annotations[infrav1.SkipRemediationByAnnotation]
		found = appendIf(found, "Machine "+machines[i].Name, map[string]bool{
			"is being deleted":               !machines[i].DeletionTimestamp.IsZero(),
			"is " + machines[i].Status.Phase: machines[i].Status.Phase != string(clusterv1.MachinePhaseRunning),
			"is left out of remediation":     skips || by,
		})
	}
	return found, err
}

// onNodes checks the nodes of the cluster's hosts.
func onNodes(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	nodes, err := cluster.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	identities, err := cluster.Identities(ctx)
	found := []string{}
	for i := range nodes {
		node := &nodes[i]
		_, byPerson := node.Annotations[personal]
		_, paused := node.Annotations[infrav1.NodeUpgradePauseAnnotation]
		isOurs := func(identity scenario.Identity) bool { return identity.Node == node.Name }
		if !slices.Contains(hostNames(cluster), node.Name) {
			continue
		}
		found = appendIf(found, "Node "+node.Name, map[string]bool{
			"is cordoned":                node.Spec.Unschedulable && !byPerson,
			"is not cordoned any more":   !node.Spec.Unschedulable && byPerson,
			"has the mark of our cordon": node.Annotations[infrav1.CordonedByAnnotation] != "",
			"has the mark of our pause":  paused,
			"belongs to no Machine":      !slices.ContainsFunc(identities, isOurs),
		})
	}
	return found, err
}

func hostNames(cluster *scenario.Cluster) []string {
	names := []string{}
	for n := range cluster.Options.Workers + cluster.Options.Spare {
		names = append(names, cluster.HostName(n+1))
	}
	return names
}

func onAttempts(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	attempts, err := cluster.Attempts(ctx)
	found := []string{}
	for i := range attempts {
		found = appendIf(found, "ElementalHostUpgrade "+attempts[i].Name, map[string]bool{
			"is being deleted": !attempts[i].DeletionTimestamp.IsZero(),
			"has not ended":    attempts[i].Status.CompletionTime == nil,
		})
	}
	return found, err
}

func appendIf(found []string, of string, is map[string]bool) []string {
	for what, so := range is {
		if so {
			found = append(found, of+" "+what)
		}
	}
	slices.Sort(found)
	return found
}
