// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause

import (
	"context"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

// observation is all that one reconcile decides on.
type observation struct {
	cluster   *clusterv1.Cluster
	elemental *infrav1.ElementalCluster
	// subjects are the Machines of the Cluster that hosts serve, by their Nodes.
	subjects map[string]*subject
	// nodes are the names of all Nodes of the Cluster's Machines, and incomplete says that some Machine has none yet.
	nodes      []string
	incomplete bool
}

func (r *Reconciler) observe(ctx context.Context, cluster *clusterv1.Cluster, elemental *infrav1.ElementalCluster) (*observation, error) {
	seen := &observation{cluster: cluster, elemental: elemental, subjects: map[string]*subject{}}
	machines := &clusterv1.MachineList{}
	if err := r.Client.List(ctx, machines, inCluster(cluster), labelled(cluster), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Machines of Cluster %s: %w", cluster.Name, err)
	}
	made, err := r.elementalMachines(ctx, cluster)
	if err != nil {
		return nil, err
	}
	byMachine, err := r.attempts(ctx, cluster)
	if err != nil {
		return nil, err
	}
	owners := &owner.Memo{Owners: r.Owners}
	for i := range machines.Items {
		machine := &machines.Items[i]
		node := machine.Status.NodeRef.Name
		if node == "" {
			seen.incomplete = seen.incomplete || machine.DeletionTimestamp.IsZero()
			continue
		}
		seen.nodes = append(seen.nodes, node)
		own := made[machine.Spec.InfrastructureRef.Name]
		if own == nil || !association.NamesElementalMachine(machine.Spec.InfrastructureRef) {
			continue
		}
		if seen.subjects[node], err = r.observeSubject(ctx, machine, own, byMachine[machine.Name], owners); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func (r *Reconciler) elementalMachines(ctx context.Context, cluster *clusterv1.Cluster) (map[string]*infrav1.ElementalMachine, error) {
	list := &infrav1.ElementalMachineList{}
	if err := r.Client.List(ctx, list, inCluster(cluster), labelled(cluster), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ElementalMachines of Cluster %s: %w", cluster.Name, err)
	}
	made := make(map[string]*infrav1.ElementalMachine, len(list.Items))
	for i := range list.Items {
		made[list.Items[i].Name] = &list.Items[i]
	}
	return made, nil
}

// attempts of the Cluster by their Machines, the newest first.
func (r *Reconciler) attempts(ctx context.Context, cluster *clusterv1.Cluster) (map[string][]*infrav1.ElementalHostUpgrade, error) {
	ofCluster, err := attempts.OfCluster(ctx, r.Client, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return nil, err
	}
	found := map[string][]*infrav1.ElementalHostUpgrade{}
	for i := range ofCluster {
		machine := ofCluster[i].Spec.MachineName
		found[machine] = append(found[machine], &ofCluster[i])
	}
	for _, ofMachine := range found {
		slices.SortFunc(ofMachine, newestFirst)
	}
	return found, nil
}

func newestFirst(a, b *infrav1.ElementalHostUpgrade) int { return infrav1.OldestFirst(b, a) }

func (r *Reconciler) observeSubject(ctx context.Context, machine *clusterv1.Machine, own *infrav1.ElementalMachine,
	attempts []*infrav1.ElementalHostUpgrade, owners *owner.Memo,
) (*subject, error) {
	wanted, err := r.desired(ctx, owners, machine)
	if err != nil {
		return nil, err
	}
	found := &subject{machine: machine, own: own, desired: wanted}
	if found.rollout == "" && len(attempts) > 0 && isActive(attempts[0]) {
		// Its owner, or what that wants, is gone or of a kind that is not known.
		found.desired = desired{rollout: pausing.RolloutOf(attempts[0]), options: attempts[0].Spec.Options, os: attempts[0].Spec.OSVersionManagement}
	}
	found.attempt = newestOf(found.rollout, attempts)
	if own.Spec.HostRef == nil {
		return found, nil
	}
	host := &infrav1.ElementalHost{}
	key := client.ObjectKey{Namespace: own.Namespace, Name: own.Spec.HostRef.Name}
	if err := r.Client.Get(ctx, key, host); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading ElementalHost %s: %w", key.Name, err)
	} else if err == nil {
		found.host = host
	}
	return found, nil
}

// newestOf is the newest attempt of a rollout; nil if there is none.
func newestOf(rollout string, attempts []*infrav1.ElementalHostUpgrade) *infrav1.ElementalHostUpgrade {
	var newest *infrav1.ElementalHostUpgrade
	for _, attempt := range attempts {
		if pausing.RolloutOf(attempt) == rollout && (newest == nil || newestFirst(attempt, newest) < 0) {
			newest = attempt
		}
	}
	return newest
}

func inCluster(cluster *clusterv1.Cluster) client.InNamespace {
	return client.InNamespace(cluster.Namespace)
}

func labelled(cluster *clusterv1.Cluster) client.MatchingLabels {
	return client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}
}
