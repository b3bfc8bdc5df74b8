// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UpgradeGate is a condition that must hold before a node is begun: an expression over objects of the workload cluster, or a Job in it.
//
// +kubebuilder:validation:XValidation:rule="has(self.object) != has(self.job)",message="set either object or job"
// +kubebuilder:validation:XValidation:rule="has(self.object) == has(self.expression)",message="set expression with object, and only with it"
type UpgradeGate struct {
	// name of the gate, which messages have.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// object of the workload cluster, or objects of it, that the expression is about.
	// +optional
	Object *GateObject `json:"object,omitempty"`
	// expression in CEL that must be true. Variable self is the object; with a list of objects it is self.items. It compares values, and makes no
	// texts, lists or maps from them: of the functions of Kubernetes it has those that cannot. What cannot be evaluated, as a field that is not
	// there, is not true.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression,omitempty"`
	// job that must complete. It is run once before each node, after all gates with an object are open.
	// +optional
	Job *GateJob `json:"job,omitempty"`
}

// GateObject selects objects of the workload cluster.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.name) && has(self.selector))",message="set either name or selector"
// +kubebuilder:validation:XValidation:rule="!(self.kind == 'Secret' && self.apiVersion == 'v1')",message="Secrets are not read"
// +kubebuilder:validation:XValidation:rule="!self.kind.endsWith('List')",message="kind is that of one object, without List"
type GateObject struct {
	// apiVersion of the object, as in "ceph.rook.io/v1".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// kind of the object, as in "CephCluster". Secrets are not read.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// namespace of the object; it is needed with the name of an object that is in one. Default with a list: all namespaces.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// name of the object. Default: a list of those that the selector selects.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^/%]*[^/%.][^/%]*$`
	Name string `json:"name,omitempty"`
	// selector of a list by labels. Default: all, of which there may be 500.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// GateJob is a Job with one container, in the namespace of the ServiceAccount of the gates. Its Pod has the pull secrets of that
// ServiceAccount, and no token.
type GateJob struct {
	// image of the container.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Image string `json:"image"`
	// command of the container. Default: that of the image.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Command []string `json:"command,omitempty"`
	// args of the command.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Args []string `json:"args,omitempty"`
	// env are environment variables of the container.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Env []GateEnvVar `json:"env,omitempty"`
	// runAsUser is the ID of the user that the container runs as. Other than 0 it also says that the container does not run as root, which Pod Security
	// Standard "restricted" requires. Default: the user of the image.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RunAsUser *int64 `json:"runAsUser,omitempty"`
	// timeoutSeconds after which the Job has failed. Default 600.
	// +optional
	// +default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// retryIntervalSeconds is how long after a failure the Job is run again. Default 60.
	// +optional
	// +default=60
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=86400
	RetryIntervalSeconds int32 `json:"retryIntervalSeconds,omitempty"`
}

// GateEnvVar is an environment variable.
type GateEnvVar struct {
	// name of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// value of the variable.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`
}

// GateServiceAccount is a ServiceAccount of the workload cluster.
type GateServiceAccount struct {
	// namespace of the ServiceAccount, in which Jobs run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// name of the ServiceAccount.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ClusterUpgradeGate is the state of a gate.
type ClusterUpgradeGate struct {
	// name of the gate.
	// +required
	Name string `json:"name"`
	// open says that the gate lets the next node begin.
	// +required
	Open bool `json:"open"`
	// key identifies what was evaluated: the generation of the ElementalClusterUpgrade, its stage, the nodes that were done, and the window. A gate that is
	// open with another key is evaluated again before the next node.
	// +required
	Key string `json:"key"`
	// message says why the gate is closed.
	// +optional
	Message string `json:"message,omitempty"`
	// lastTransitionTime is when the gate opened or closed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero"`
}
