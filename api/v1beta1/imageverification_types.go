// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// UnmatchedImagePolicy says what becomes of images that no rule is about.
// +kubebuilder:validation:Enum=Refuse;Accept
type UnmatchedImagePolicy string

// Policies for images that no rule is about.
const (
	// UnmatchedImageRefuse keeps hosts from writing them.
	UnmatchedImageRefuse UnmatchedImagePolicy = "Refuse"
	// UnmatchedImageAccept lets hosts write them without a signature.
	UnmatchedImageAccept UnmatchedImagePolicy = "Accept"
)

// ImageVerification says whose signature an OS image needs before a host writes it. Signatures are cosign's: the tag
// sha256-<digest>.sig in the repository of the image, made with a key. Those without a key (keyless), and those that are
// stored only as bundles, do not count.
type ImageVerification struct {
	// rules, by what the name of an image begins with. The rule with the longest prefix counts, and no other.
	// +listType=map
	// +listMapKey=prefix
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Rules []ImageVerificationRule `json:"rules"`

	// unmatched says what becomes of images that no rule is about: Refuse (default), or Accept them without a signature.
	// +optional
	Unmatched UnmatchedImagePolicy `json:"unmatched,omitempty"`
}

// ImageVerificationRule says who has to have signed the images of a registry, or of a part of it.
type ImageVerificationRule struct {
	// prefix of the image's name, in whole parts: a registry (registry.example.com, registry.example.com:5000), or a
	// registry and the beginning of the repository (registry.example.com/os). No scheme, tag or digest.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Prefix string `json:"prefix"`

	// publicKeys are PEM-encoded, as in cosign.pub: ECDSA, RSA or Ed25519, used with SHA-256. One signature that is valid by
	// any of them is enough; two keys are how a key is replaced.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=1024
	PublicKeys []string `json:"publicKeys"`
}
