// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/featuregates"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
)

// ControlPlane is an owner of control plane Machines whose provider can update them in place.
type ControlPlane interface {
	Owner
	// Replicas that are wanted.
	Replicas() int32
	// ObservedGeneration of its status.
	ObservedGeneration() int64
	// Provider is the value of Cluster API's provider label of what manages it.
	Provider() string
	// healthConditions are those that its provider sets on every Machine, and that have to be True before it updates one.
	healthConditions() []string
	// strategy of its rollouts.
	strategy() strategy
}

// strategy of a control plane's rollouts, with the names of the fields.
type strategy struct {
	// kind of the strategy; it is a rolling update if it is empty.
	kind     string
	maxSurge *intstr.IntOrString
	field    string
	// after is the moment before which Machines that were created are replaced.
	after metav1.Time
	// tooFew says why Machines are not updated in place with fewer replicas than minControlPlaneReplicas.
	tooFew string
}

// ForControlPlane returns an object as a ControlPlane, if it is of one of the kinds.
func ForControlPlane(object client.Object) (ControlPlane, bool) {
	switch of := object.(type) {
	case *controlplanev1.KubeadmControlPlane:
		return kubeadmControlPlane{of}, true
	case *rke2.ControlPlane:
		return rke2ControlPlane{of}, true
	}
	return nil, false
}

// IsControlPlane reports whether Machines of the control plane belong to an owner.
func IsControlPlane(of Owner) bool {
	_, isOne := of.(ControlPlane)
	return isOne
}

// controlPlaneKinds are the kinds of control planes whose provider can update Machines in place, in the order of their names.
var controlPlaneKinds = []controlPlaneKind{
	{KubeadmControlPlaneKind, func() client.Object { return &controlplanev1.KubeadmControlPlane{} }, func() client.ObjectList { return &controlplanev1.KubeadmControlPlaneList{} }},
	{RKE2ControlPlaneKind, func() client.Object { return &rke2.ControlPlane{} }, func() client.ObjectList { return &rke2.ControlPlaneList{} }},
}

type controlPlaneKind struct {
	name    string
	newOne  func() client.Object
	newList func() client.ObjectList
}

// NewControlPlane is an empty object of a kind; nil if it is not a kind of control planes whose provider can update Machines in place.
func NewControlPlane(kind string) client.Object {
	for _, known := range controlPlaneKinds {
		if known.name == kind {
			return known.newOne()
		}
	}
	return nil
}

type kubeadmControlPlane struct {
	*controlplanev1.KubeadmControlPlane
}

// ForKubeadmControlPlane returns a KubeadmControlPlane as an Owner.
func ForKubeadmControlPlane(kcp *controlplanev1.KubeadmControlPlane) Owner {
	return kubeadmControlPlane{kcp}
}

func (p kubeadmControlPlane) Object() client.Object      { return p.KubeadmControlPlane }
func (p kubeadmControlPlane) Kind() string               { return KubeadmControlPlaneKind }
func (p kubeadmControlPlane) ClusterName() string        { return p.Labels[clusterv1.ClusterNameLabel] }
func (p kubeadmControlPlane) Replicas() int32            { return ptr.Deref(p.Spec.Replicas, 1) }
func (p kubeadmControlPlane) ObservedGeneration() int64  { return p.Status.ObservedGeneration }
func (p kubeadmControlPlane) Provider() string           { return featuregates.KubeadmControlPlane }
func (p kubeadmControlPlane) healthConditions() []string { return componentConditions }
func (p kubeadmControlPlane) reference() clusterv1.ContractVersionedObjectReference {
	return p.Spec.MachineTemplate.Spec.InfrastructureRef
}

func (p kubeadmControlPlane) machineLabels() client.MatchingLabels {
	return client.MatchingLabels{
		clusterv1.ClusterNameLabel: p.ClusterName(), clusterv1.MachineControlPlaneNameLabel: format.MustFormatValue(p.Name),
	}
}

func (p kubeadmControlPlane) resource() schema.GroupResource {
	return schema.GroupResource{Group: controlplanev1.GroupVersion.Group, Resource: "kubeadmcontrolplanes"}
}

func (p kubeadmControlPlane) strategy() strategy {
	rollout := p.Spec.Rollout
	return strategy{
		kind: string(rollout.Strategy.Type), maxSurge: rollout.Strategy.RollingUpdate.MaxSurge, field: "spec.rollout.strategy", after: rollout.After,
		tooFew: "because Cluster API accepts maxSurge 0 with 3 replicas or more only",
	}
}

type rke2ControlPlane struct{ *rke2.ControlPlane }

// ForRKE2ControlPlane returns an RKE2ControlPlane as an Owner.
func ForRKE2ControlPlane(object *rke2.ControlPlane) Owner { return rke2ControlPlane{object} }

func (p rke2ControlPlane) Object() client.Object     { return p.ControlPlane }
func (p rke2ControlPlane) Kind() string              { return RKE2ControlPlaneKind }
func (p rke2ControlPlane) ClusterName() string       { return p.Labels[clusterv1.ClusterNameLabel] }
func (p rke2ControlPlane) Replicas() int32           { return ptr.Deref(p.Spec.Replicas, 1) }
func (p rke2ControlPlane) ObservedGeneration() int64 { return p.Status.ObservedGeneration }
func (p rke2ControlPlane) Provider() string          { return featuregates.RKE2ControlPlane }
func (p rke2ControlPlane) healthConditions() []string {
	return []string{rke2.AgentHealthyCondition, rke2.EtcdMemberHealthyCondition}
}

func (p rke2ControlPlane) reference() clusterv1.ContractVersionedObjectReference {
	return p.Spec.MachineTemplate.Spec.InfrastructureRef
}

// machineLabels do not name the control plane, which CAPRKE2 does not: a Cluster has one.
func (p rke2ControlPlane) machineLabels() client.MatchingLabels {
	return client.MatchingLabels{clusterv1.ClusterNameLabel: p.ClusterName(), clusterv1.MachineControlPlaneLabel: ""}
}

func (p rke2ControlPlane) resource() schema.GroupResource {
	return schema.GroupResource{Group: rke2.GroupVersion.Group, Resource: rke2.ControlPlaneResource}
}

func (p rke2ControlPlane) strategy() strategy {
	found := strategy{
		field:  "spec.rolloutStrategy",
		tooFew: "because CAPRKE2 deletes a Machine that it does not find healthy, and with fewer than 3 replicas etcd does not survive that",
	}
	if rollout := p.Spec.RolloutStrategy; rollout != nil {
		found.kind = rollout.Type
		found.maxSurge = cmp.Or(rollout.RollingUpdate, &rke2.RollingUpdate{}).MaxSurge
	}
	return found
}
