// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"time"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Certificates of the control plane have to outlast the upgrade of the cluster: kubelets that boot with an API server
// that nobody trusts do not come back. The limit is Harvester's.
const (
	day            = 24 * time.Hour
	expiryBlocks   = 7 * day
	expiryWarns    = 30 * day
	renewalMessage = "renew the certificates, with Cluster API by rolling the control plane out again"
)

// checkCertificates judges what Cluster API knows of the certificates of control plane Machines.
func checkCertificates(s *Snapshot, _ *Subject) []infrav1.PreflightResult {
	found := []infrav1.PreflightResult{}
	for _, machine := range s.controlPlane() {
		expiry := machine.Status.CertificatesExpiryDate
		object, on := "Machine/"+machine.Name, expiry.UTC().Format(time.DateOnly)
		switch left := expiry.Sub(s.Now); {
		case expiry.IsZero(), left >= expiryWarns:
		case left <= 0:
			found = append(found, block(object, "has certificates that expired on "+on+": "+renewalMessage)...)
		case left < expiryBlocks:
			found = append(found, block(object, "has certificates that expire on "+on+", in less than 7 days: "+renewalMessage)...)
		default:
			found = append(found, warn(object, "has certificates that expire on "+on+": "+renewalMessage)...)
		}
	}
	return found
}
