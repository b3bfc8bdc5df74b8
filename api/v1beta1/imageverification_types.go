// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// UnmatchedImagePolicy is the policy for images that match no rule.
// +kubebuilder:validation:Enum=Refuse;Accept
type UnmatchedImagePolicy string

// Policies for images that match no rule.
const (
	// UnmatchedImageRefuse keeps hosts from writing them.
	UnmatchedImageRefuse UnmatchedImagePolicy = "Refuse"
	// UnmatchedImageAccept allows hosts to write them without a signature.
	UnmatchedImageAccept UnmatchedImagePolicy = "Accept"
)

// ImageVerification defines whose signature an OS image needs before a host writes it. Signatures are cosign's, made with a key or
// with a certificate that sigstore has issued (keyless): at the tag sha256-<digest>.sig in the repository of the image, or as
// bundles that refer to it.
// +kubebuilder:validation:XValidation:rule="has(self.trustedRootRef) || !self.rules.exists(rule, has(rule.identities))",message="rules with identities need trustedRootRef: a ConfigMap in the same namespace with sigstore's trusted root under the key trusted_root.json"
type ImageVerification struct {
	// rules by prefix of the image name. Only the rule with the longest matching prefix applies.
	// +required
	// +listType=map
	// +listMapKey=prefix
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Rules []ImageVerificationRule `json:"rules"`

	// unmatched is the policy for images that match no rule: Refuse (default), or Accept them without a signature.
	// +optional
	// +default="Refuse"
	Unmatched UnmatchedImagePolicy `json:"unmatched,omitempty"`

	// trustedRootRef names the ConfigMap with sigstore's trusted root: the authorities and logs by which certificates of
	// identities are verified. It is required if a rule has identities, and read whenever a host gets its rules.
	// +optional
	TrustedRootRef *TrustedRootReference `json:"trustedRootRef,omitempty"`
}

// TrustedRootKey is the key of sigstore's trusted root in a ConfigMap, in the format that
// `cosign trusted-root create --with-default-services` writes.
const TrustedRootKey = "trusted_root.json"

// TrustedRootReference names a ConfigMap in the namespace of the object that refers to it.
type TrustedRootReference struct {
	// name of the ConfigMap. Its key trusted_root.json has the trusted root, of 256 KiB at most.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// ImageVerificationRule defines who must have signed the images of a registry, or of a part of it. One valid signature by any of
// its keys or identities is sufficient.
// +kubebuilder:validation:XValidation:rule="has(self.publicKeys) || has(self.identities)",message="a rule needs publicKeys, identities, or both"
type ImageVerificationRule struct {
	// prefix of the image's name, in whole path components: a registry (registry.example.com, registry.example.com:5000), or a
	// registry and the beginning of the repository (registry.example.com/os). No scheme, tag or digest.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Prefix string `json:"prefix"`

	// publicKeys are PEM-encoded, as in cosign.pub: ECDSA, RSA or Ed25519, used with SHA-256. To replace a key, list the old
	// and the new one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=1024
	PublicKeys []string `json:"publicKeys,omitempty"`

	// identities that may sign without a key of their own, with a certificate that an authority of the trusted root has
	// issued and a log of the trusted root has recorded.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Identities []ImageIdentity `json:"identities,omitempty"`
}

// ImageIdentity is who a certificate of sigstore was issued to.
// +kubebuilder:validation:XValidation:rule="has(self.subject) != has(self.subjectRegExp)",message="an identity needs either subject or subjectRegExp"
type ImageIdentity struct {
	// issuer that has authenticated the subject, compared exactly: the URL of an OpenID Connect issuer, for example
	// https://token.actions.githubusercontent.com.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Issuer string `json:"issuer"`

	// subject of the certificate, compared exactly: an email address, or a URI such as that of a workflow.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Subject string `json:"subject,omitempty"`

	// subjectRegExp is a regular expression (Go's, RE2) that the whole subject has to match.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	SubjectRegExp string `json:"subjectRegExp,omitempty"`
}
