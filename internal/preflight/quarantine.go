// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

const quarantineCheck = "Quarantine"

// HeldByQuarantine reports whether the quarantine is among what blocks: nothing but a change of it helps then.
func HeldByQuarantine(results []infrav1.PreflightResult) bool {
	return slices.ContainsFunc(results, func(result infrav1.PreflightResult) bool {
		return result.Check == quarantineCheck && result.Verdict == infrav1.PreflightBlock
	})
}

func checkQuarantine(s *Snapshot, subject *Subject) []infrav1.PreflightResult {
	image := QuarantinedImage(s.ElementalCluster, subject.Digest)
	if image == nil {
		return pass()
	}
	return block("Image/"+subject.Digest, QuarantineMessage(s.ElementalCluster, image))
}

// QuarantinedImage returns the entry of the cluster's quarantine for a digest; nil if there is none, no digest or no cluster.
func QuarantinedImage(cluster *infrav1.ElementalCluster, digest string) *infrav1.QuarantinedImage {
	if cluster == nil || digest == "" {
		return nil
	}
	i := slices.IndexFunc(cluster.Spec.Quarantine, func(image infrav1.QuarantinedImage) bool { return image.Digest == digest })
	if i < 0 {
		return nil
	}
	return &cluster.Spec.Quarantine[i]
}

// QuarantineMessage says why a digest is in quarantine, and how it gets out.
func QuarantineMessage(cluster *infrav1.ElementalCluster, image *infrav1.QuarantinedImage) string {
	why := "is quarantined"
	if image.Host != "" {
		why += fmt.Sprintf(" because ElementalHost %s rolled back from it", image.Host)
	}
	if image.Reason != "" {
		why += " (" + image.Reason + ")"
	}
	return fmt.Sprintf("%s: patch the template to a good image, or remove the digest from spec.quarantine of ElementalCluster %s to try it again",
		why, cluster.Name)
}
