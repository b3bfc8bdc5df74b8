// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagerules

import (
	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Convert to the wire format, without the trusted root. Nil stays nil.
func Convert(of *infrav1.ImageVerification) *wire.ImageVerification {
	if of == nil {
		return nil
	}
	converted := &wire.ImageVerification{Unmatched: string(of.Unmatched)}
	for _, rule := range of.Rules {
		converted.Rules = append(converted.Rules, wire.ImageVerificationRule{
			Prefix: rule.Prefix, PublicKeys: rule.PublicKeys, Identities: identities(rule.Identities),
		})
	}
	if of.TrustedRootRef != nil {
		converted.TrustedRootRef = of.TrustedRootRef.Name
	}
	return converted
}

func identities(of []infrav1.ImageIdentity) []wire.ImageIdentity {
	var converted []wire.ImageIdentity
	for _, identity := range of {
		converted = append(converted, wire.ImageIdentity{Issuer: identity.Issuer, Subject: identity.Subject, SubjectRegExp: identity.SubjectRegExp})
	}
	return converted
}
