// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
)

// Evacuation of a Node of what residents have on it.
type Evacuation struct {
	// Node that is to go down. It is cordoned.
	Node *corev1.Node
	// Attempt is in every mark that is left.
	Attempt string
	// Policy of the cluster, for virtual machines that cannot be migrated.
	Policy infrav1.VMPolicy
	// Observed is what was there when the evacuation began, whose times are by the clock of the workload cluster.
	Observed *observed.Changes
	// Now is the time, by which what does not end is named with what clears it. Default: nothing of that kind is.
	Now time.Time
}

// Restoration is the way back of what was stopped for one Node.
type Restoration struct {
	// NodeName is the Node that it was stopped for, by whichever attempt. Empty: none.
	NodeName string
	// Node is that Node; nil if it is gone.
	Node *corev1.Node
	// Attempt for which it was stopped, wherever it ran.
	Attempt string
	// All brings back that too which is to stay off after an upgrade: the upgrade did not take place.
	All bool
	// Others brings back that too which another attempt has stopped for the Node.
	Others bool
}

// Progress is how far an evacuation, or its undoing, has come.
type Progress struct {
	// Done says that nothing is left to do.
	Done bool
	// Message says what is waited for.
	Message string
	// Held says that it will not go on by itself: a person, or another controller, has to do something.
	Held bool
	// After is when to look again; the more is left, the later. Default two seconds.
	After time.Duration
	// VirtualMachines that are on the Node, by name, with what was decided for each.
	VirtualMachines []infrav1.VirtualMachineStatus
}

// Residents are some of those that a cluster may have.
type Residents []Resident

// On are the residents that may have something on the Node that is to leave it.
func (c *Cluster) On(ctx context.Context, node *corev1.Node) (Residents, error) {
	return c.choose(func(r Resident) (bool, error) { return r.Present(ctx, c, node) })
}

// CertainlyOn is On without what was remembered: it asks the cluster each time.
func (c *Cluster) CertainlyOn(ctx context.Context, node *corev1.Node) (Residents, error) {
	return c.choose(func(r Resident) (bool, error) { return r.CertainlyPresent(ctx, c, node) })
}

func (c *Cluster) choose(is func(Resident) (bool, error)) (Residents, error) {
	chosen := Residents{}
	for _, resident := range c.residents {
		found, err := is(resident)
		if err != nil {
			return nil, err
		}
		if found {
			chosen = append(chosen, resident)
		}
	}
	return chosen, nil
}

// Leaving is what tells that something of them leaves a Node.
func (r Residents) Leaving() []drainwatch.Kind {
	kinds := []drainwatch.Kind{}
	for _, resident := range r {
		kinds = append(kinds, resident.Leaving()...)
	}
	return kinds
}

// lookAfter is when a pass is repeated that does not say when.
const lookAfter = 2 * time.Second

// InTurn does one pass for each resident, and comes to the next only where there is nothing left to do for one.
func (r Residents) InTurn(pass func(Resident) (Progress, error)) (Progress, error) {
	for _, resident := range r {
		if progress, err := pass(resident); err != nil || !progress.Done {
			return progress.timed(), err
		}
	}
	return Progress{Done: true}, nil
}

// Each does one pass for each resident, whatever becomes of the others: what is undone for one does not depend on them. The
// progress is that of the first that is not done.
func (r Residents) Each(pass func(Resident) (Progress, error)) (Progress, error) {
	first, errs := Progress{Done: true}, []error{}
	for _, resident := range r {
		progress, err := pass(resident)
		errs = append(errs, err)
		if err == nil && !progress.Done && first.Done {
			first = progress.timed()
		}
	}
	return first, errors.Join(errs...)
}

func (p Progress) timed() Progress {
	if !p.Done && p.After == 0 {
		p.After = lookAfter
	}
	return p
}
