// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/json"

// Registration is what a registration sends to its hosts.
type Registration struct {
	HostLabels      map[string]string `json:"hostLabels,omitempty"`
	HostAnnotations map[string]string `json:"hostAnnotations,omitempty"`
	// ImageVerification for images that the host is installed with or reset to; nil for none.
	ImageVerification *ImageVerification `json:"imageVerification,omitempty"`
	// Config is RegistrationConfig of the API, with the URI and the authorities that are in effect, and without a token.
	Config json.RawMessage `json:"config,omitempty"`
}

// HostCreate registers a host. The same name with the same key is the same host, and the request can be repeated; the same name with another
// key is refused with 409.
type HostCreate struct {
	Name string `json:"name"`
	// Labels that the host proposes. Labels of the Kubernetes, Cluster API and Elemental domains are refused.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// SMBIOS has the SMBIOS fields of the host, by the names in package internal/smbios. The API uses them in the labels and annotations of
	// the registration.
	SMBIOS map[string]string `json:"smbios,omitempty"`
	// PubKey is the PEM-encoded (PKIX) Ed25519 public key of the host.
	PubKey string `json:"pubKey"`
}

// Desired is the desired state of a host. It is computed from the ElementalHost alone.
type Desired struct {
	// Revision identifies this content; a request with the same revision stays pending until it changes.
	Revision string `json:"revision"`
	// Approved is false until an operator approves the host.
	Approved bool `json:"approved"`
	// Bootstrap is true if the host has to fetch and apply its bootstrap data.
	Bootstrap bool `json:"bootstrap,omitempty"`
	// Reset is true if the host has to reset itself.
	Reset bool `json:"reset,omitempty"`
	// Upgrade is the attempt that the host takes part in.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Unreported is true while the API has no report of the host: it is new, or "clusterctl move", which does not preserve its status, has
	// moved it to another management cluster. The host then reports everything.
	Unreported bool `json:"unreported,omitempty"`
}

// Upgrade is an attempt to upgrade the host to another OS.
type Upgrade struct {
	// Attempt is the id. The result of one attempt must not be used for another.
	Attempt string `json:"attempt"`
	// Apply is the trigger: write the image, reboot, assess. Without it the host only prepares.
	Apply bool `json:"apply,omitempty"`
	// ApplyIn is the boot for which Apply was given: in another one the host does not apply the image. It is nil without Apply, for attempts that
	// have no ElementalHostUpgrade, and from managers that do not know the field; agents that do not know it ignore it.
	ApplyIn *Boot `json:"applyIn,omitempty"`
	// Digest that the image has to have, if another host has resolved it already.
	Digest string `json:"digest,omitempty"`
	// ImageVerification that the image has to pass before it is written; nil for none.
	ImageVerification *ImageVerification `json:"imageVerification,omitempty"`
	// Prefetch is Download or None.
	Prefetch string `json:"prefetch,omitempty"`
	// OSVersionManagement is passed to the OS plugin.
	OSVersionManagement map[string]json.RawMessage `json:"osVersionManagement,omitempty"`
}

// Boot identifies a boot of a host.
type Boot struct {
	BootID string `json:"bootID"`
	// Digest of the image that was booted; empty if the OS has none, as one that was installed from media.
	Digest string `json:"digest,omitempty"`
}

// OSVersion is the value of osVersionManagement["osVersion"].
type OSVersion struct {
	ImageURI        string `json:"imageUri,omitempty"`
	UpgradeRecovery bool   `json:"upgradeRecovery,omitempty"`
	Debug           bool   `json:"debug,omitempty"`
}

// Bootstrap is the bootstrap data of the Machine that the host serves.
type Bootstrap struct {
	// Format is cloud-config or ignition.
	Format string `json:"format"`
	Config string `json:"config"`
}

// Reset is how to reset the host.
type Reset struct {
	// Options is spec.config.elemental.reset of the registration, for the OS plugin.
	Options json.RawMessage `json:"options,omitempty"`
	// ImageVerification for the images in the options; see Registration.
	ImageVerification *ImageVerification `json:"imageVerification,omitempty"`
}

// Authorities are the certificate authorities that the host has to trust for the Elemental API.
type Authorities struct {
	// CACert is PEM-encoded: one certificate authority, or both while one replaces the other.
	CACert string `json:"caCert"`
}

// Error is the body of every response that is not 2xx.
type Error struct {
	// Code is the HTTP status.
	Code int `json:"code"`
	// Message says what is wrong and what to do.
	Message string `json:"message"`
}
