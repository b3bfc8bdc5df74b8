// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"context"
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// isSuspected reports whether no host is claimed for a machine because of its OS, and says so: the image is in quarantine, or its rollout was stopped. The host would
// be installed with what other hosts are kept from. A machine whose owner wants another OS by now claims one: Cluster API waits for it before it continues.
func (r *Reconciler) isSuspected(ctx context.Context, s *scope) (bool, error) {
	want, isKnown, err := owner.WantsOS(ctx, r.Client, s.owner)
	if err != nil || isKnown && !osversion.Same(want.OSVersionManagement, s.machine.Spec.OSVersionManagement) {
		return false, err
	}
	of, err := r.rolloutTo(ctx, s)
	if err != nil {
		return false, err
	}
	image := osversion.Image(s.machine.Spec.OSVersionManagement)
	_, digest, _ := strings.Cut(image, "@")
	if of != nil {
		digest = cmp.Or(of.Spec.ImageDigest, digest)
	}
	quarantined, err := r.quarantined(ctx, s, digest)
	switch {
	case err != nil:
		return false, err
	case quarantined != "":
		condition.False(s.machine, infrav1.AssociationReadyCondition, string(infrav1.HoldImageQuarantined), "No host is claimed: %s", quarantined)
	case of != nil && of.Spec.StoppedBy != "":
		condition.False(s.machine, infrav1.AssociationReadyCondition, string(infrav1.HoldRolloutStopped),
			"No host is claimed: ElementalHostUpgrade %s, which brings another host to the same OS, has not succeeded: see its message, and patch the template to a good image",
			of.Spec.StoppedBy)
	default:
		return false, nil
	}
	return true, nil
}

// rolloutTo the Cluster of a machine that is the last one of its template, if that is for its OS; nil otherwise.
func (r *Reconciler) rolloutTo(ctx context.Context, s *scope) (*infrav1.ElementalRollout, error) {
	template := owner.MadeFrom(s.machine)
	if template == "" {
		return nil, nil
	}
	all, err := rollout.OfTemplate(ctx, r.Client, s.machine.Namespace, template)
	of := rollout.Last(all, s.cluster.Name)
	if err != nil || of == nil || !osversion.Same(of.Spec.OSVersionManagement, s.machine.Spec.OSVersionManagement) {
		return nil, err
	}
	return of, nil
}

// quarantined says that the Cluster of a machine, or another one of its namespace, has a digest in quarantine; empty if none has, or that is waived.
func (r *Reconciler) quarantined(ctx context.Context, s *scope, digest string) (string, error) {
	if s.elementalCluster == nil || digest == "" {
		return "", nil
	}
	others, err := clusterview.Quarantining(ctx, r.Client, s.machine.Namespace, digest)
	return preflight.Quarantined(s.elementalCluster, others, digest), err
}
