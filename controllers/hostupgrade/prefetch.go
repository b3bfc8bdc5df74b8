// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// prefetch waits until the host has the image, and pins the rollout to the first digest that a host
// resolved: a tag that moves in the middle must not give two nodes two systems.
func (r *Reconciler) prefetch(ctx context.Context, o *observation) (sequence.Result, error) {
	report := o.hostReport()
	if report.Phase != infrav1.HostUpgradeFetched {
		return sequence.Wait(pollHost, "ElementalHost %s is fetching %s", o.host.Name, o.upgrade.Spec.ImageURI), nil
	}
	if err := r.pin(ctx, o, report.Digest); err != nil {
		return sequence.Result{}, err
	}
	if pinned := o.digest(); report.Digest != pinned {
		// Another host of the rollout was first. The host is asked again, now with the digest.
		return sequence.Wait(pollHost, "ElementalHost %s is fetching %s", o.host.Name, pinned), r.offer(ctx, o)
	}
	return sequence.Done(), nil
}

// pin records the digest, unless another host of the rollout, or of the cluster's upgrade, was first. A pin for another image is replaced.
func (r *Reconciler) pin(ctx context.Context, o *observation, digest string) error {
	digest = cmp.Or(o.clusterDigest, digest)
	if digest == "" {
		return nil
	}
	if err := r.pinTemplate(ctx, o, digest); err != nil {
		return err
	}
	o.upgrade.Status.Digest = cmp.Or(o.digest(), digest)
	return nil
}

func (r *Reconciler) pinTemplate(ctx context.Context, o *observation, digest string) error {
	if o.template == nil {
		return nil
	}
	if known := o.pinned(); known == digest || known != "" && o.clusterDigest == "" {
		return nil
	}
	before := o.template.DeepCopy()
	if o.template.Annotations == nil {
		o.template.Annotations = map[string]string{}
	}
	o.template.Annotations[infrav1.RolloutDigestAnnotation] = rollout.Pin(o.upgrade.Spec.ImageURI, digest)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, o.template, patch); err != nil {
		return fmt.Errorf("pinning the rollout of ElementalMachineTemplate %s to its digest: %w", o.template.Name, err)
	}
	return nil
}
