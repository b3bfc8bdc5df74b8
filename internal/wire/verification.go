// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

// UnmatchedAccept as a value of ImageVerification.Unmatched; all else refuses.
const UnmatchedAccept = "Accept"

// ImageVerification says whose signature an image needs before it is written: ImageVerification of the API.
type ImageVerification struct {
	// Rules, by prefix of the image's name. The longest that matches counts.
	Rules []ImageVerificationRule `json:"rules"`
	// Unmatched says what becomes of images that no rule is about: they are refused unless it is UnmatchedAccept.
	Unmatched string `json:"unmatched,omitempty"`
}

// ImageVerificationRule says who has to have signed the images whose names begin with a prefix.
type ImageVerificationRule struct {
	Prefix string `json:"prefix"`
	// PublicKeys are PEM-encoded; one signature by any of them is enough.
	PublicKeys []string `json:"publicKeys"`
}
