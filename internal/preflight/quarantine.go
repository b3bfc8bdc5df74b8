// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"encoding/json"
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
	host, quarantined, err := QuarantinedBy(s.ElementalCluster, subject.Digest)
	if err != nil {
		return block("ElementalCluster/"+s.ElementalCluster.Name, err.Error())
	}
	if !quarantined {
		return pass()
	}
	return block("Image/"+subject.Digest, QuarantineMessage(s.ElementalCluster, host))
}

// QuarantinedBy returns the host that rolled back from the digest.
func QuarantinedBy(cluster *infrav1.ElementalCluster, digest string) (host string, quarantined bool, err error) {
	if cluster == nil || digest == "" {
		return "", false, nil
	}
	digests, err := Quarantine(cluster)
	if err != nil {
		return "", false, err
	}
	host, quarantined = digests[digest]
	return host, quarantined, nil
}

// Quarantine reads the digests that hosts of the cluster rolled back from, with those hosts. It fails on a list that a
// person broke.
func Quarantine(cluster *infrav1.ElementalCluster) (map[string]string, error) {
	digests := map[string]string{}
	value := cluster.Annotations[infrav1.QuarantineAnnotation]
	if value == "" {
		return digests, nil
	}
	if err := json.Unmarshal([]byte(value), &digests); err != nil {
		return nil, fmt.Errorf("annotation %s is not a JSON object of digests: repair or remove it", infrav1.QuarantineAnnotation)
	}
	return digests, nil
}

// QuarantineMessage says why a digest is in quarantine, and how it gets out.
func QuarantineMessage(cluster *infrav1.ElementalCluster, host string) string {
	return fmt.Sprintf("is quarantined because ElementalHost %s rolled back from it: patch the template to a good image, "+
		"or take the digest off annotation %s of ElementalCluster %s to try it again",
		host, infrav1.QuarantineAnnotation, cluster.Name)
}
