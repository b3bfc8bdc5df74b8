// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/json"

// UnmatchedAccept as a value of ImageVerification.Unmatched; all else refuses.
const UnmatchedAccept = "Accept"

// ImageVerification says whose signature an image needs before it is written: ImageVerification of the API.
type ImageVerification struct {
	// Rules, by prefix of the image's name. The longest that matches counts.
	Rules []ImageVerificationRule `json:"rules"`
	// Unmatched says what becomes of images that no rule is about: they are refused unless it is UnmatchedAccept.
	Unmatched string `json:"unmatched,omitempty"`
	// TrustedRootRef is the ConfigMap that TrustedRoot is read from; empty for none.
	TrustedRootRef string `json:"trustedRootRef,omitempty"`
	// TrustedRoot is sigstore's, in its JSON. It is as it was when the answer was sent, and no part of a revision.
	TrustedRoot json.RawMessage `json:"trustedRoot,omitempty"`
	// TrustedRootError says why there is no TrustedRoot although there should be, and what to do.
	TrustedRootError string `json:"trustedRootError,omitempty"`
}

// ImageVerificationRule says who has to have signed the images whose names begin with a prefix. One signature by any of the keys
// or identities is enough.
type ImageVerificationRule struct {
	Prefix string `json:"prefix"`
	// PublicKeys are PEM-encoded.
	PublicKeys []string `json:"publicKeys,omitempty"`
	// Identities count where TrustedRoot has issued their certificates.
	Identities []ImageIdentity `json:"identities,omitempty"`
}

// ImageIdentity is who a certificate was issued to. Either Subject or SubjectRegExp is set; the latter has to match as a whole.
type ImageIdentity struct {
	Issuer        string `json:"issuer"`
	Subject       string `json:"subject,omitempty"`
	SubjectRegExp string `json:"subjectRegExp,omitempty"`
}
