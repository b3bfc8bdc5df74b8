// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagerules"
)

// offer asks the host to prepare for the attempt.
func (r *Reconciler) offer(ctx context.Context, o *observation) error {
	triggered := o.triggered()
	return r.patchHost(ctx, o, "offering the attempt to", func(host *infrav1.ElementalHost) {
		host.Spec.Upgrade = o.request()
		if !triggered {
			// The outcome that an upgrade by hand has left would be read as this one's, and a trigger that a person
			// set before would set the host off before its node is drained.
			delete(host.Labels, infrav1.InPlaceUpgradeLabel)
			delete(host.Labels, infrav1.InPlaceUpdateLabel)
		}
	})
}

// dropForeignTrigger takes a trigger away that a person set. From here on the attempt owns the label:
// whatever the host is to run next, it would go off undrained.
func (r *Reconciler) dropForeignTrigger(ctx context.Context, o *observation) error {
	if asked := o.host.Spec.Upgrade; o.rival != nil || asked != nil && asked.Attempt != o.attempt {
		return nil // it is another attempt's
	}
	return r.patchHost(ctx, o, "taking the trigger from", func(host *infrav1.ElementalHost) {
		for _, label := range []string{infrav1.InPlaceUpgradeLabel, infrav1.InPlaceUpdateLabel} {
			if host.Labels[label] == infrav1.InPlaceUpgradePending {
				delete(host.Labels, label)
			}
		}
	})
}

// request is what the host is asked for.
func (o *observation) request() *infrav1.HostUpgradeRequest {
	return &infrav1.HostUpgradeRequest{
		Attempt:             o.attempt,
		Digest:              o.digest(),
		ImageVerification:   imagerules.Governing(o.elementalCluster, o.host),
		Prefetch:            o.options.Prefetch,
		OSVersionManagement: o.upgrade.Spec.OSVersionManagement,
	}
}

// withdraw takes the attempt back from the host, but not its outcome. Whether the host has begun in the
// meantime is known only when it has answered: see takeBack. From a host that has gone meanwhile there is nothing to take.
func (r *Reconciler) withdraw(ctx context.Context, o *observation) error {
	return client.IgnoreNotFound(r.patchHost(ctx, o, "withdrawing the attempt from", func(host *infrav1.ElementalHost) {
		if host.Spec.Upgrade == nil || host.Spec.Upgrade.Attempt != o.attempt {
			return
		}
		host.Spec.Upgrade = nil
		if host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending {
			delete(host.Labels, infrav1.InPlaceUpgradeLabel)
		}
		delete(host.Annotations, infrav1.BlockMoveAnnotation)
	}))
}

// patchHost writes a change of the host if it is one, with the resourceVersion that was read: the
// trigger must not be given, or taken, on the ground of a stale read.
func (r *Reconciler) patchHost(ctx context.Context, o *observation, doing string, change func(*infrav1.ElementalHost)) error {
	if o.host == nil {
		return nil
	}
	before := o.host.DeepCopy()
	change(o.host)
	if equality.Semantic.DeepEqual(before, o.host) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, o.host, patch); err != nil {
		return fmt.Errorf("%s ElementalHost %s: %w", doing, o.host.Name, err)
	}
	return nil
}
