// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ApprovalPolicy defines who approves the hosts of a registration.
// +kubebuilder:validation:Enum=Manual;Auto
type ApprovalPolicy string

// Approval policies.
const (
	// ApprovalManual leaves a new host unapproved until an operator sets its spec.approved.
	ApprovalManual ApprovalPolicy = "Manual"
	// ApprovalAuto approves every host that presents the registration token.
	ApprovalAuto ApprovalPolicy = "Auto"
)

// Types of the Secrets that the manager writes. A policy (config/policy) keeps it from writing others.
const (
	// RegistrationKeySecretType is the type of the Secrets with the signing keys of registrations, which the manager creates and
	// does not change.
	RegistrationKeySecretType corev1.SecretType = "infrastructure.cluster.x-k8s.io/registration-key"
	// RegistrationTokenSecretType is the type of the Secrets with the tokens of registrations, which the manager creates and renews.
	RegistrationTokenSecretType corev1.SecretType = "infrastructure.cluster.x-k8s.io/registration-token"
)

const (
	// RegistrationTokenSecretSuffix follows the name of a registration in that of the Secret with its token.
	RegistrationTokenSecretSuffix = "-token"
	// RegistrationTokenSecretKey is the key of that Secret under which the token is.
	RegistrationTokenSecretKey = "token"
)

// ElementalRegistrationSpec defines how hosts register and how they are configured.
type ElementalRegistrationSpec struct {
	// hostLabels are set on every host of the registration. Placeholders, such as "System Information/UUID" in
	// braces after a dollar sign, are replaced by the host's SMBIOS data; a label with a missing value is omitted.
	// +optional
	// +kubebuilder:validation:MaxProperties=100
	HostLabels map[string]string `json:"hostLabels,omitempty"`

	// hostAnnotations are set on every host of the registration, with SMBIOS data as in hostLabels.
	// +optional
	// +kubebuilder:validation:MaxProperties=100
	HostAnnotations map[string]string `json:"hostAnnotations,omitempty"`

	// approval defines who approves new hosts. Default Manual.
	// +optional
	// +default="Manual"
	Approval ApprovalPolicy `json:"approval,omitempty"`

	// maxHosts is the maximum number of hosts of the registration. When it is reached new hosts are refused until there are
	// fewer; registered hosts are kept. Several replicas of the manager can exceed it by a few. Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxHosts *int32 `json:"maxHosts,omitempty"`

	// maxPending is the maximum number of unapproved hosts of the registration. When it is reached other unapproved hosts are
	// refused. Several replicas of the manager can exceed it by a few. Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPending *int32 `json:"maxPending,omitempty"`

	// privateKeyRef is the Secret with the key that signs registration tokens. Default: a Secret with
	// the registration's name, created if it does not exist.
	// +optional
	PrivateKeyRef *SecretReference `json:"privateKeyRef,omitempty"`

	// deniedKeys are keys of hosts whose ElementalHost was deleted. They cannot register again until an operator removes them
	// from the list. The host controller adds keys; at most 1000.
	// +optional
	// +listType=map
	// +listMapKey=pubKey
	// +kubebuilder:validation:MaxItems=1000
	DeniedKeys []DeniedKey `json:"deniedKeys,omitempty"`

	// imageVerification defines whose signature an OS image needs with which a host is installed or reset, or to which it is
	// upgraded before it serves a cluster. That of a cluster takes precedence. Default: none.
	// +optional
	ImageVerification *ImageVerification `json:"imageVerification,omitempty"`

	// config is passed to the agent.
	// +optional
	Config RegistrationConfig `json:"config,omitempty,omitzero"`
}

// MaxDeniedKeys of a registration. The finalizer of an ElementalHost is not removed while there is no room for its key.
const MaxDeniedKeys = 1000

// DeniedKeyReset is whether the host of a denied key has to reset itself.
// +kubebuilder:validation:Enum=Pending;Done
type DeniedKeyReset string

// Resets of hosts whose key is denied.
const (
	// DeniedKeyResetPending: the host has not reported that it has been wiped, and is told to reset itself when it connects.
	DeniedKeyResetPending DeniedKeyReset = "Pending"
	// DeniedKeyResetDone: the host has been wiped since, and has another key.
	DeniedKeyResetDone DeniedKeyReset = "Done"
)

// DeniedKey is the key of a host whose ElementalHost was deleted.
type DeniedKey struct {
	// pubKey is what spec.pubKey of the ElementalHost was.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	PubKey string `json:"pubKey"`
	// host is the name of the ElementalHost.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`
	// reset is whether the host has to reset itself: Pending until it has reported that it has been wiped, then Done.
	// Empty if no reset was requested.
	// +optional
	Reset DeniedKeyReset `json:"reset,omitempty"`
	// since is when the ElementalHost was deleted.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`
}

// RegistrationConfig is the configuration of an agent and its host.
type RegistrationConfig struct {
	// cloudConfig is applied to the host when it is installed.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	CloudConfig map[string]runtime.RawExtension `json:"cloudConfig,omitempty"`

	// elemental configures the agent and its OS plugin.
	// +optional
	Elemental ElementalConfig `json:"elemental,omitempty,omitzero"`
}

// ElementalConfig configures the agent and its OS plugin.
type ElementalConfig struct {
	// install is passed to the OS plugin when the host is installed.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Install map[string]runtime.RawExtension `json:"install,omitempty"`

	// reset is passed to the OS plugin when the host is reset.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Reset map[string]runtime.RawExtension `json:"reset,omitempty"`

	// registration is how the agent reaches the Elemental API.
	// +optional
	Registration Registration `json:"registration,omitempty,omitzero"`

	// agent configures the agent itself.
	// +optional
	Agent AgentConfig `json:"agent,omitempty,omitzero"`
}

// Registration is how an agent reaches the Elemental API.
type Registration struct {
	// uri that hosts use instead of the manager's, for example that of a load balancer. Requests to it have to reach the
	// Elemental API. Default: that of the manager's endpoint, which is in status.uri.
	// +optional
	URI string `json:"uri,omitempty"`
	// caCert that new hosts trust instead of the manager's authorities, PEM-encoded. Default: those, which are in
	// status.caCert.
	// +optional
	CACert string `json:"caCert,omitempty"`
	// tokenDuration is how long a registration token is valid; it is renewed after half of it. Default
	// and maximum 8760h (a year).
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('8760h')",message="tokenDuration has to be more than 0s and at most 8760h"
	TokenDuration *metav1.Duration `json:"tokenDuration,omitempty"`
	// token is deprecated and not used: the registration token is in the Secret that status.tokenSecretName names. Version 0.7
	// stored it here; the registration controller removes it, and with it uri and caCert if uri is the manager's own.
	// +optional
	Token string `json:"token,omitempty"`
}

// AgentConfig configures the agent. Unset fields have the agent's defaults.
type AgentConfig struct {
	// workDir is where the agent keeps its state. Default /var/lib/elemental/agent.
	// +optional
	WorkDir string `json:"workDir,omitempty"`
	// hostname defines how a host gets its name.
	// +optional
	Hostname Hostname `json:"hostname,omitempty,omitzero"`
	// noSmbios keeps the agent from sending SMBIOS data, so that labels and annotations cannot use them.
	// +optional
	NoSMBIOS bool `json:"noSmbios,omitempty"`
	// debug enables debug logs of the agent.
	// +optional
	Debug bool `json:"debug,omitempty"`
	// osPlugin is "elemental" (default) or "dummy".
	// +optional
	OSPlugin string `json:"osPlugin,omitempty"`
	// reconciliation is how long the agent waits after a failed request. Default 10s.
	// +optional
	Reconciliation *metav1.Duration `json:"reconciliation,omitempty"`
	// stableWindow is how long the checks of a boot after an upgrade have to hold, with the same kubelet process, before the boot
	// has passed its assessment, up to 5m. Default 30s.
	// +optional
	StableWindow *metav1.Duration `json:"stableWindow,omitempty"`
	// assessmentTimeout is how long a boot after an upgrade may take to pass its assessment, from 1m to 1h, and at least twice
	// stableWindow. The host then goes back to its former OS. Default 10m.
	// +optional
	AssessmentTimeout *metav1.Duration `json:"assessmentTimeout,omitempty"`
	// insecureAllowHttp allows a registration URI with http.
	// +optional
	InsecureAllowHTTP bool `json:"insecureAllowHttp,omitempty"`
	// insecureSkipTlsVerify skips the verification of the API's certificate.
	// +optional
	InsecureSkipTLSVerify bool `json:"insecureSkipTlsVerify,omitempty"`
	// insecureRegistries are prefixes of the names of OS images, in whole path components as in imageVerification: images that
	// match are fetched over TLS without verification, or over plain HTTP if the registry does not support TLS. All other images
	// are fetched over verified TLS only. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	InsecureRegistries []string `json:"insecureRegistries,omitempty"`
	// useSystemCertPool trusts the system's certificate authorities in addition to caCert.
	// +optional
	UseSystemCertPool bool `json:"useSystemCertPool,omitempty"`
	// postInstall is the action after an installation.
	// +optional
	PostInstall PostAction `json:"postInstall,omitempty,omitzero"`
	// postReset is the action after a reset.
	// +optional
	PostReset PostAction `json:"postReset,omitempty,omitzero"`
}

// Hostname defines how a host gets its name.
type Hostname struct {
	// useExisting keeps the name that the host has.
	// +optional
	UseExisting bool `json:"useExisting,omitempty"`
	// prefix of a random name. Default "m-".
	// +optional
	Prefix string `json:"prefix,omitempty"`
}

// PostAction is an action after an installation or a reset.
type PostAction struct {
	// powerOff the host.
	// +optional
	PowerOff bool `json:"powerOff,omitempty"`
	// reboot the host.
	// +optional
	Reboot bool `json:"reboot,omitempty"`
}

// ElementalRegistrationStatus is the observed state of a registration.
type ElementalRegistrationStatus struct {
	// conditions of the registration: Ready, TokenReady, HostTemplatesValid, Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// uri at which hosts register: spec.config.elemental.registration.uri, or that of the manager's endpoint.
	// +optional
	URI string `json:"uri,omitempty"`
	// caCert that new hosts trust, PEM-encoded: spec.config.elemental.registration.caCert, or the authorities of the manager's
	// certificate. Empty: hosts trust their system's.
	// +optional
	CACert string `json:"caCert,omitempty"`
	// tokenSecretName is the Secret with the registration token, under the key token. Empty while there is no token that hosts
	// can register with.
	// +optional
	TokenSecretName string `json:"tokenSecretName,omitempty"`
	// tokenExpirationTime is when that token expires. A new one replaces it in the Secret after half of its life.
	// +optional
	TokenExpirationTime metav1.Time `json:"tokenExpirationTime,omitempty,omitzero"`
}

// ElementalRegistration is an endpoint at which hosts register.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=elementalregistrations,scope=Namespaced,categories=cluster-api,shortName=ereg
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta1","clusterctl.cluster.x-k8s.io/move="}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether hosts can register"
// +kubebuilder:printcolumn:name="Approval",type="string",JSONPath=".spec.approval",description="Who approves new hosts"
// +kubebuilder:printcolumn:name="URI",type="string",JSONPath=".status.uri",description="Where hosts register",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ElementalRegistration struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec ElementalRegistrationSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state.
	// +optional
	Status ElementalRegistrationStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the object, for Cluster API's condition helpers.
func (r *ElementalRegistration) GetConditions() []metav1.Condition {
	return withReasons(r.Status.Conditions)
}

// SetConditions replaces the conditions of the object.
func (r *ElementalRegistration) SetConditions(conditions []metav1.Condition) {
	r.Status.Conditions = conditions
}

// ElementalRegistrationList is a list of ElementalRegistration.
//
// +kubebuilder:object:root=true
type ElementalRegistrationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ElementalRegistration `json:"items"`
}
