// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
)

// Kinds of owners.
const (
	MachineDeploymentKind   = "MachineDeployment"
	KubeadmControlPlaneKind = "KubeadmControlPlane"
	RKE2ControlPlaneKind    = rke2.ControlPlaneKind

	machineSetKind = "MachineSet"
	machineKind    = "Machine"
)

type machineDeployment struct{ *clusterv1.MachineDeployment }

// ForMachineDeployment returns a MachineDeployment as an Owner.
func ForMachineDeployment(md *clusterv1.MachineDeployment) Owner { return machineDeployment{md} }

// Pauses reports whether a change pauses the rollout of an owner by spec.paused. Unlike the paused annotation,
// that does not stop Cluster API from reconciling the rest of the object.
func Pauses(before, after Owner) bool {
	was, wasOne := before.(machineDeployment)
	is, isOne := after.(machineDeployment)
	return wasOne && isOne && !ptr.Deref(was.Spec.Paused, false) && ptr.Deref(is.Spec.Paused, false)
}

func (d machineDeployment) Object() client.Object { return d.MachineDeployment }
func (d machineDeployment) Kind() string          { return MachineDeploymentKind }
func (d machineDeployment) ClusterName() string   { return d.Spec.ClusterName }
func (d machineDeployment) reference() clusterv1.ContractVersionedObjectReference {
	return d.Spec.Template.Spec.InfrastructureRef
}

func (d machineDeployment) machineLabels() client.MatchingLabels {
	return client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: d.Name}
}

func (d machineDeployment) resource() schema.GroupResource {
	return schema.GroupResource{Group: clusterv1.GroupVersion.Group, Resource: "machinedeployments"}
}
