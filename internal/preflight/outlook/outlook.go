// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Outlook of one cluster.
type Outlook struct {
	// Cluster that it is about.
	Cluster *clusterv1.Cluster
	// Options for the upgrade of its nodes, with their defaults.
	Options infrav1.NodeUpgradeOption
	// Subjects are the nodes that would be upgraded, in their order.
	Subjects []*preflight.Subject
	// Decisions of their virtual machines, by the name of the Node; only where they were asked for.
	Decisions map[string][]infrav1.VirtualMachineStatus
	// Results of their checks that are not as they should be, each once.
	Results []infrav1.PreflightResult
	// Waived are those of them that would have blocked.
	Waived []infrav1.PreflightResult
	// UnderWay says that a rollout has not ended: the way out of it is another image, and nothing holds that back.
	UnderWay bool
	// Unreachable says that the workload cluster does not answer, so that nothing is known of it.
	Unreachable bool

	elemental *infrav1.ElementalCluster
	// strangers are names in pauseNodes that no Node of the cluster has.
	strangers []string
	// What Foresee adds: what is waited for besides the checks, what does not block, what nodes do by their names, and how long one took in its last upgrade.
	waits, beware []string
	doing         map[string]string
	took          time.Duration
}

// Blockers are the results that block.
func (o *Outlook) Blockers() []infrav1.PreflightResult {
	return slices.DeleteFunc(slices.Clone(o.Results), func(r infrav1.PreflightResult) bool { return r.Verdict != infrav1.PreflightBlock })
}

// Viewer looks ahead.
type Viewer struct {
	// Client reads the management cluster; a cache will do.
	Client client.Reader
	// Workload opens workload clusters.
	Workload workload.Connector
	// Namespaces says which have opted in to upgrades in place. Default: all have.
	Namespaces Namespaces
	// Now is the time.
	Now func() time.Time

	snapshots preflight.Reader
}

// OfCluster looks at those Machines of a cluster that are chosen.
func (v *Viewer) OfCluster(ctx context.Context, cluster client.ObjectKey, isChosen func(*clusterv1.Machine) bool) (*Outlook, error) {
	return v.look(ctx, cluster, clusterview.New(v.Client, cluster), nil, isChosen)
}

// elementalMachines of a Cluster, by name.
func elementalMachines(ctx context.Context, view *clusterview.View) (map[string]*infrav1.ElementalMachine, error) {
	all, err := view.ElementalMachines(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*infrav1.ElementalMachine, len(all))
	for i := range all {
		found[all[i].Name] = &all[i]
	}
	return found, nil
}

// look at the chosen Machines of a cluster, for which some objects have waivers. It is nil where there is no such Cluster, or it is not one of ours.
func (v *Viewer) look(ctx context.Context, key client.ObjectKey, view *clusterview.View,
	of []client.Object, isChosen func(*clusterv1.Machine) bool,
) (*Outlook, error) {
	seen := &Outlook{Cluster: &clusterv1.Cluster{}}
	elemental, err := v.observe(ctx, key, seen)
	if err != nil || elemental == nil {
		return nil, err
	}
	seen.elemental, seen.Options = elemental, elemental.Spec.NodeUpgradeOption.WithDefaults()
	snapshot, err := v.snapshot(ctx, preflight.Sources{
		View: view, Cluster: seen.Cluster, ElementalCluster: elemental, Now: v.Now(),
	})
	if err != nil {
		return nil, err
	}
	if snapshot == nil {
		seen.Unreachable = true
		return seen, nil
	}
	for i := range snapshot.Machines {
		if machine := &snapshot.Machines[i]; isChosen(machine) && machine.DeletionTimestamp.IsZero() {
			seen.add(snapshot, machine)
		}
	}
	slices.SortStableFunc(seen.Subjects, inOrder)
	seen.strangers = strangers(seen.Options.Strategy, snapshot.Nodes)
	elementals, err := elementalMachines(ctx, view)
	if err != nil {
		return nil, err
	}
	for _, subject := range seen.Subjects {
		carriers := append([]client.Object{elemental}, of...)
		if machine := elementals[subject.Machine.Spec.InfrastructureRef.Name]; machine != nil {
			carriers = append(carriers, machine)
		}
		seen.judge(snapshot, subject, preflight.WaiversOf(carriers...))
	}
	return seen, nil
}

func (v *Viewer) observe(ctx context.Context, key client.ObjectKey, seen *Outlook) (*infrav1.ElementalCluster, error) {
	if err := v.Client.Get(ctx, key, seen.Cluster); err != nil {
		return nil, existing.UnlessAbsent(err, "reading Cluster "+key.Name)
	}
	ref := seen.Cluster.Spec.InfrastructureRef
	if !association.NamesElementalCluster(ref) {
		return nil, nil
	}
	return existing.Get(ctx, v.Client, &infrav1.ElementalCluster{}, key.Namespace, ref.Name)
}

// snapshot is nil while the workload cluster does not answer.
func (v *Viewer) snapshot(ctx context.Context, from preflight.Sources) (*preflight.Snapshot, error) {
	live, err := v.Workload.Connect(ctx, client.ObjectKeyFromObject(from.Cluster))
	if errors.Is(err, workload.ErrUnreachable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	from.Workload = live
	snapshot, err := v.snapshots.Read(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("looking at Cluster %s: %w", from.Cluster.Name, err)
	}
	return snapshot, nil
}

func (o *Outlook) add(snapshot *preflight.Snapshot, machine *clusterv1.Machine) {
	if subject := snapshot.SubjectOf(machine); subject != nil {
		o.Subjects = append(o.Subjects, subject)
	}
}

// judge adds what is new: of several nodes, most is found for each of them.
func (o *Outlook) judge(snapshot *preflight.Snapshot, subject *preflight.Subject, waivers preflight.Waivers) {
	results := preflight.Run(snapshot, subject, waivers, func(result infrav1.PreflightResult) {
		if !slices.Contains(o.Waived, result) {
			o.Waived = append(o.Waived, result)
		}
	})
	for _, result := range results {
		if !slices.Contains(o.Results, result) {
			o.Results = append(o.Results, result)
		}
	}
}
