// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

const (
	// resetPatience is how long a host that was deleted while it served a machine has to reset itself once
	// it is released. One that cannot any more does not keep its ElementalHost for ever.
	resetPatience = infrav1.DefaultRebootTimeout
	// nodePatience is how long the deletion of a host waits for its workload cluster to answer, so that the
	// host's Node can be deleted. What is left then is skipped by the checks before an upgrade.
	nodePatience = 15 * time.Minute
	// pollMachine is how soon it is looked again whether a machine still exists. One that goes releases its
	// host, which is an event; this is for one that was force-deleted.
	pollMachine = time.Minute
	// pollWorkload is how soon a workload cluster that does not answer is tried again.
	pollWorkload = 10 * time.Second
	// crowded is for other hosts that leave the same cluster.
	crowded = time.Second
)

// deletionWait is what the deletion of a host waits for. The zero value is a host that may go, or that is
// not being deleted.
type deletionWait struct {
	// waits says what for; empty when the host may go.
	waits string
	// after is when to look again. Zero: an event tells.
	after time.Duration
	// orphaned says that the host's machine is gone without having released it.
	orphaned bool
	// reason of ResetReady; empty where the host itself is waited for.
	reason string
}

// deletionWait says what the deletion of a host waits for. One that serves a machine waits to be released,
// and then to be reset, so that no machine in the rack goes on as a node that nobody knows of. Its Node
// goes before it: while the ElementalHost is there no other can register under its name, and the host,
// which says from its recovery system that it resets itself, runs no kubelet that would recreate the Node. Nothing of this
// keeps a Machine: it has released its host before.
func (r *Reconciler) deletionWait(ctx context.Context, host *infrav1.ElementalHost, cluster *clusterv1.Cluster) (deletionWait, error) {
	released := hoststate.HasLabel(host, infrav1.NeedsResetLabel) || hoststate.HasLabel(host, infrav1.ResetLabel)
	switch {
	case host.DeletionTimestamp.IsZero():
		return deletionWait{}, nil
	case !released && host.Spec.MachineRef != nil:
		orphaned, err := r.isOrphaned(ctx, host)
		return deletionWait{waits: "the host serves a machine", orphaned: orphaned, after: pollMachine}, err
	case !released && !isLeaving(host):
		return r.denyKey(ctx, host)
	}
	if left := r.untilReset(host); left > 0 {
		return deletionWait{waits: "the host has not reset itself", after: left}, nil
	}
	if until := r.deleteNode(ctx, host, cluster); until.waits != "" {
		return until, nil
	}
	return r.denyKey(ctx, host)
}

// isOrphaned reports whether the machine that would release the host does not exist any more.
func (r *Reconciler) isOrphaned(ctx context.Context, host *infrav1.ElementalHost) (bool, error) {
	key := client.ObjectKey{Namespace: host.Namespace, Name: host.Spec.MachineRef.Name}
	err := r.Client.Get(ctx, key, &infrav1.ElementalMachine{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading ElementalMachine %s: %w", key.Name, err)
	}
	return apierrors.IsNotFound(err), nil
}

// untilReset is how much longer it is waited for a host to say that it has been wiped: from its deletion on, which is its own
// doing if it resets itself, or from when it was asked to. Who deletes a host that had been asked to reset itself before, and
// has not begun, does so because it never will.
func (r *Reconciler) untilReset(host *infrav1.ElementalHost) time.Duration {
	if hoststate.WasReset(host) {
		return 0
	}
	asked := conditions.Get(host, infrav1.ResetReadyCondition)
	if asked == nil || conditions.IsTrue(host, infrav1.ResetReadyCondition) {
		if isLeaving(host) {
			return resetPatience - r.deletedFor(host)
		}
		return resetPatience
	}
	switch {
	case !asked.LastTransitionTime.Time.Before(host.DeletionTimestamp.Time):
		return asked.LastTransitionTime.Add(resetPatience).Sub(r.Clock.Now())
	case !isLeaving(host):
		return 0
	}
	return resetPatience - r.deletedFor(host)
}

// deletionOf is the key of when the deletion of a host was seen.
type deletionOf struct{ uid types.UID }

// deletedFor is for how long a host has been about to be deleted.
func (r *Reconciler) deletedFor(host *infrav1.ElementalHost) time.Duration {
	return r.observed.Age(deletionOf{host.UID}, host.DeletionTimestamp.Time, r.Clock.Now())
}
