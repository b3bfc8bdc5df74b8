// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// isSuspected reports whether no host is claimed for a machine because of its OS, and says so: the image is in quarantine, or its rollout was stopped. The host would
// be installed with what other hosts are kept from.
func (r *Reconciler) isSuspected(ctx context.Context, s *scope) (bool, error) {
	all, err := rollout.OfTemplate(ctx, r.Client, s.machine.Namespace, owner.MadeFrom(s.machine))
	if err != nil {
		return false, err
	}
	image, _ := osversion.Image(s.machine.Spec.OSVersionManagement)
	_, digest, _ := strings.Cut(image, "@")
	stoppedBy := ""
	if of := rollout.Last(all, s.cluster.Name); of != nil && osversion.Same(of.Spec.OSVersionManagement, s.machine.Spec.OSVersionManagement) {
		digest, stoppedBy = of.Spec.ImageDigest, of.Spec.StoppedBy
	}
	quarantined := preflight.QuarantinedImage(s.elementalCluster, digest)
	switch {
	case quarantined != nil:
		condition.False(s.machine, infrav1.AssociationReadyCondition, string(infrav1.HoldImageQuarantined), "No host is claimed: Image/%s: %s",
			digest, preflight.QuarantineMessage(s.elementalCluster, quarantined))
	case stoppedBy != "":
		condition.False(s.machine, infrav1.AssociationReadyCondition, string(infrav1.HoldRolloutStopped), "%s", fmt.Sprintf(
			"No host is claimed: ElementalHostUpgrade %s, which brings another host to the same OS, has not succeeded: see its message, and patch the template to a good image",
			stoppedBy))
	default:
		return false, nil
	}
	return true, nil
}
