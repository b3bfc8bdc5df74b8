// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

const (
	// measured is how many Machines of a Cluster are looked at for how long an upgrade takes, at most.
	measured = 16
	// leastShift is by how much an estimate is off at least before another one is stored.
	leastShift = time.Minute
)

// left are the Machines of a Cluster that do not run the OS.
type left struct {
	// several may be upgraded at a time, and single are upgraded one at a time: control planes.
	several, single int
}

func (l *left) add(machines int, ofControlPlane bool) {
	if ofControlPlane {
		l.single += machines
	} else {
		l.several += machines
	}
}

// reportEstimate says when the last Machine will run the OS, by how long the upgrades of the Cluster's Machines took. It is not known where none has been
// upgraded yet, or something is in the way. What was said before stays as long as it is off by less than one node, or a minute.
func (r *Reconciler) reportEstimate(ctx context.Context, template *infrav1.ElementalMachineTemplate, seen *observation) error {
	status := &template.Status
	former := status.EstimatedCompletionTime
	status.EstimatedCompletionTime = nil
	if seen == nil || len(status.Holds) > 0 || len(seen.left) == 0 {
		return nil
	}
	longest, ofOne, err := r.longest(ctx, seen)
	if err != nil || longest == 0 {
		return err
	}
	end := metav1.NewTime(r.Owners.Clock.Now().Add(longest)).Rfc3339Copy()
	if former != nil && end.Sub(former.Time).Abs() < max(ofOne, leastShift) {
		end = *former
	}
	status.EstimatedCompletionTime = &end
	return nil
}

// longest is how long the Cluster takes that takes longest, and one of its nodes; zero where that is not known of all.
func (r *Reconciler) longest(ctx context.Context, seen *observation) (all, ofOne time.Duration, err error) {
	for cluster, of := range seen.left {
		took, err := r.took(ctx, seen, cluster)
		if err != nil || took == 0 {
			return 0, 0, err
		}
		options, _, err := owner.ClusterOptions(ctx, r.Client, seen.template.Namespace, cluster)
		if err != nil {
			return 0, 0, err
		}
		all, ofOne = max(all, time.Duration(of.rounds(options))*took), max(ofOne, took)
	}
	return all, ofOne, nil
}

// rounds in which the Machines are upgraded.
func (l left) rounds(options infrav1.NodeUpgradeOption) int {
	atATime := max(1, int(options.WithDefaults().MaxConcurrent))
	return (l.several+atATime-1)/atATime + l.single
}

// took is the median of how long the last upgrades of the template's Machines in a Cluster took; zero if there is none.
func (r *Reconciler) took(ctx context.Context, seen *observation, cluster string) (time.Duration, error) {
	machines, err := r.viewOf(seen, cluster).ElementalMachines(ctx)
	if err != nil {
		return 0, err
	}
	times, looked := []time.Duration{}, 0
	for i := range machines {
		if owner.MadeFrom(&machines[i]) != seen.template.Name {
			continue
		}
		if looked++; looked > measured {
			break
		}
		made, err := attempts.OnElementalMachine(ctx, r.Client, machines[i].Namespace, machines[i].Name)
		if err != nil {
			return 0, err
		}
		if took := attempts.Disruption(made); took > 0 {
			times = append(times, took)
		}
	}
	if len(times) == 0 {
		return 0, nil
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
