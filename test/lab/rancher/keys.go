// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	// User is Rancher's account in both clusters.
	User = "system:serviceaccount:cattle-system:rancher"
	// Namespace of the clusters that Rancher provisions.
	Namespace = "fleet-default"
	// PlanSecretType is the type of the Secret with the plan of a machine, which has its annotations of the drain.
	PlanSecretType      corev1.SecretType = "rke.cattle.io/machine-plan"
	bootstrapSecretType corev1.SecretType = "rke.cattle.io/bootstrap"
)

// Labels.
const (
	ClusterNameLabel  = "rke.cattle.io/cluster-name"
	MachineNameLabel  = "rke.cattle.io/machine-name"
	PoolLabel         = "rke.cattle.io/rke-machine-pool-name"
	EtcdLabel         = "rke.cattle.io/etcd-role"
	ControlPlaneLabel = "rke.cattle.io/control-plane-role"
	WorkerLabel       = "rke.cattle.io/worker-role"
	InitNodeLabel     = "rke.cattle.io/init-node"

	lifecyclePrefix = "plan.cattle.io/"
)

// Annotations of a plan Secret, in the order in which they appear. Their value is the token of the drain, but for the error's.
const (
	DrainOptionsAnnotation = "rke.cattle.io/drain-options"
	PreDrainAnnotation     = "rke.cattle.io/pre-drain"
	DrainDoneAnnotation    = "rke.cattle.io/drain-done"
	UncordonAnnotation     = "rke.cattle.io/uncordon"
	PostDrainAnnotation    = "rke.cattle.io/post-drain"
	DrainErrorAnnotation   = "rke.cattle.io/drain-error"
)

// Keys of a plan Secret's data.
const (
	planKey            = "plan"
	appliedPlanKey     = "appliedPlan"
	checksumKey        = "applied-checksum"
	planStateKey       = "plan-state"
	probesKey          = "probe-statuses"
	lastApplyKey       = "last-apply-time"
	planPending        = "pending"
	planSucceeded      = "succeeded"
	roleValue          = "true"
	bootstrapNameLabel = "rke.cattle.io/rkebootstrap-name"
)

// drainKeys are the annotations that a drain leaves while it is under way.
func drainKeys() []string {
	return []string{DrainOptionsAnnotation, PreDrainAnnotation, DrainDoneAnnotation, UncordonAnnotation, PostDrainAnnotation}
}

// owned are the keys that a write of the planner takes from its own copy.
var owned = regexp.MustCompile(`^(rke\.cattle\.io|(machine\.)?cluster\.x-k8s\.io)/`)

// wipe removes the annotations that a write of the planner does not keep.
func wipe(annotations map[string]string) {
	known := append(drainKeys(), DrainErrorAnnotation)
	for key := range annotations {
		if owned.MatchString(key) && !slices.Contains(known, key) {
			delete(annotations, key)
		}
	}
}
