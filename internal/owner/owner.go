// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// ElementalMachineTemplateKind is the kind that owners refer to.
const ElementalMachineTemplateKind = "ElementalMachineTemplate"

// Owner is an object that creates Machines from an infrastructure template.
type Owner interface {
	// Object is the owner itself.
	Object() client.Object
	// Kind of the owner.
	Kind() string
	// ClusterName is the Cluster that the owner's Machines belong to.
	ClusterName() string
	// reference points to the infrastructure template reference in the object itself.
	reference() clusterv1.ContractVersionedObjectReference
	// machineLabels are the labels that its provider sets on its Machines, and on their infrastructure Machines.
	machineLabels() client.MatchingLabels
	// resource of its kind.
	resource() schema.GroupResource
}

// Describe names an owner in a message, such as "MachineDeployment workers".
func Describe(o Owner) string { return fmt.Sprintf("%s %s", o.Kind(), o.Object().GetName()) }

// TemplateName is the ElementalMachineTemplate that an owner refers to, or empty if it refers to
// another kind.
func TemplateName(o Owner) string {
	ref := o.reference()
	if ref.APIGroup != infrav1.GroupVersion.Group || ref.Kind != ElementalMachineTemplateKind {
		return ""
	}
	return ref.Name
}

// IsTopologyOwned reports whether the topology controller of Cluster API manages an owner's
// reference. It reverts what others write to it.
func IsTopologyOwned(o Owner) bool {
	_, owned := o.Object().GetLabels()[clusterv1.ClusterTopologyOwnedLabel]
	return owned
}

// SameReference reports whether two versions of an owner refer to the same template.
func SameReference(a, b Owner) bool { return a.reference() == b.reference() }

// Resource of an owner's kind.
func Resource(o Owner) schema.GroupResource { return o.resource() }
