// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/json"

// UnmatchedAccept as a value of ImageVerification.Unmatched; any other refuses.
const UnmatchedAccept = "Accept"

// ImageVerification is whose signature an image needs before it is written: ImageVerification of the API.
type ImageVerification struct {
	// Rules, by prefix of the image's name. The longest matching prefix applies.
	Rules []ImageVerificationRule `json:"rules"`
	// Unmatched is how images without a matching rule are treated: they are refused unless it is UnmatchedAccept.
	Unmatched string `json:"unmatched,omitempty"`
	// TrustedRootRef is the ConfigMap with the TrustedRoot; empty for none.
	TrustedRootRef string `json:"trustedRootRef,omitempty"`
	// TrustedRoot is Sigstore's, in its JSON format. It is read when the response is sent, and is not part of a revision.
	TrustedRoot json.RawMessage `json:"trustedRoot,omitempty"`
	// TrustedRootError is why a required TrustedRoot is missing, and what to do.
	TrustedRootError string `json:"trustedRootError,omitempty"`
}

// ImageVerificationRule is who has to sign the images with a prefix. One signature by any of the keys or identities suffices.
type ImageVerificationRule struct {
	Prefix string `json:"prefix"`
	// PublicKeys are PEM-encoded.
	PublicKeys []string `json:"publicKeys,omitempty"`
	// Identities whose certificates were issued by an authority in TrustedRoot.
	Identities []ImageIdentity `json:"identities,omitempty"`
}

// ImageIdentity is the subject of a certificate. Either Subject or SubjectRegExp is set; the latter has to match completely.
type ImageIdentity struct {
	Issuer        string `json:"issuer"`
	Subject       string `json:"subject,omitempty"`
	SubjectRegExp string `json:"subjectRegExp,omitempty"`
}
