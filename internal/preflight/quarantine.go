// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	if image := QuarantinedImage(s.ElementalCluster, subject.Digest); image != nil {
		return block("Image/"+subject.Digest, QuarantineMessage(s.ElementalCluster, image))
	}
	return quarantinedByOthers(subject)
}

// isOwnQuarantine reports whether the image is in the quarantine of the host's own cluster. That of another cluster can be waived, for
// example where the hosts there are of other hardware.
func isOwnQuarantine(s *Snapshot, subject *Subject) bool {
	return QuarantinedImage(s.ElementalCluster, subject.Digest) != nil
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

// Quarantined says why no host of a cluster is to get a digest; empty if nothing is known against it. Others are ElementalClusters of the
// namespace, which may include its own.
func Quarantined(own *infrav1.ElementalCluster, others []infrav1.ElementalCluster, digest string) string {
	if image := QuarantinedImage(own, digest); image != nil {
		return "Image/" + digest + ": " + QuarantineMessage(own, image)
	}
	if slices.Contains(own.Spec.SkipPreflight, quarantineCheck) {
		return ""
	}
	elsewhere := quarantinedByOthers(&Subject{Digest: digest, Quarantining: others})
	if len(elsewhere) == 0 {
		return ""
	}
	return elsewhere[0].Object + ": " + elsewhere[0].Message
}

// quarantinedByOthers says which other clusters of the namespace have the image in quarantine, by name.
func quarantinedByOthers(subject *Subject) []infrav1.PreflightResult {
	clusters := slices.Clone(subject.Quarantining)
	slices.SortFunc(clusters, func(a, b infrav1.ElementalCluster) int { return strings.Compare(a.Name, b.Name) })
	results := pass()
	for i := range clusters {
		if image := QuarantinedImage(&clusters[i], subject.Digest); image != nil {
			results = append(results, block("Image/"+subject.Digest, otherQuarantineMessage(&clusters[i], image))...)
		}
	}
	return results
}

// QuarantineMessage says why a digest is in the quarantine of the host's own cluster, and how it gets out.
func QuarantineMessage(cluster *infrav1.ElementalCluster, image *infrav1.QuarantinedImage) string {
	return fmt.Sprintf("is quarantined%s: patch the template to a good image, or remove the digest from spec.quarantine of ElementalCluster %s to try it again",
		failedOn(image, ""), cluster.Name)
}

// otherQuarantineMessage says why a digest is in the quarantine of another cluster of the namespace, and what to do about it here.
func otherQuarantineMessage(cluster *infrav1.ElementalCluster, image *infrav1.QuarantinedImage) string {
	since := ""
	if !image.Since.IsZero() {
		since = " at " + image.Since.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("is quarantined by ElementalCluster %[1]s%[2]s: patch the template to a good image, remove the digest from "+
		"spec.quarantine of ElementalCluster %[1]s, or add %[3]s to spec.skipPreflight to try it here", cluster.Name, failedOn(image, since), quarantineCheck)
}

// failedOn says on which host an image failed, when and why; empty for an image that a user has added without saying so.
func failedOn(image *infrav1.QuarantinedImage, since string) string {
	why := ""
	if image.Host != "" {
		why = fmt.Sprintf(" because it failed on ElementalHost %s%s", image.Host, since)
	}
	if image.Reason != "" {
		why += " (" + image.Reason + ")"
	}
	return why
}
