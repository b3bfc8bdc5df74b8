// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
)

// setQuarantine puts the digest into quarantine, or takes it out.
func (r *Reconciler) setQuarantine(ctx context.Context, o *observation, digest string, bad bool) error {
	if o.elementalCluster == nil || digest == "" {
		return nil
	}
	digests, err := preflight.Quarantine(o.elementalCluster)
	if err != nil {
		// A list that a person broke is left for the person to repair; it blocks every upgrade meanwhile.
		return nil //nolint:nilerr // see above
	}
	if _, is := digests[digest]; is == bad {
		return nil
	}
	if bad {
		digests[digest] = o.upgrade.Spec.HostName
	} else {
		delete(digests, digest)
	}
	if err := r.writeQuarantine(ctx, o, digests); err != nil {
		return err
	}
	if bad {
		r.Recorder.Eventf(o.elementalCluster, nil, "Warning", infrav1.EventDigestQuarantined, "Quarantine",
			"ElementalHost %s rolled back from %s (%s): it is offered to no further host", o.upgrade.Spec.HostName, digest, o.upgrade.Spec.ImageURI)
		return nil
	}
	r.Recorder.Eventf(o.elementalCluster, nil, "Normal", infrav1.EventQuarantineLifted, "Quarantine",
		"ElementalHost %s runs %s (%s): it is offered to other hosts again", o.upgrade.Spec.HostName, digest, o.upgrade.Spec.ImageURI)
	return nil
}

func (r *Reconciler) writeQuarantine(ctx context.Context, o *observation, digests map[string]string) error {
	before := o.elementalCluster.DeepCopy()
	if o.elementalCluster.Annotations == nil {
		o.elementalCluster.Annotations = map[string]string{}
	}
	value, err := json.Marshal(digests)
	if err != nil {
		return fmt.Errorf("encoding quarantined digests: %w", err)
	}
	o.elementalCluster.Annotations[infrav1.QuarantineAnnotation] = string(value)
	if len(digests) == 0 {
		delete(o.elementalCluster.Annotations, infrav1.QuarantineAnnotation)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, o.elementalCluster, patch); err != nil {
		return fmt.Errorf("writing the quarantined digests of ElementalCluster %s: %w", o.elementalCluster.Name, err)
	}
	return nil
}
