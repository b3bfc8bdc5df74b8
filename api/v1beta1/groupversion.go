// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of every kind in this package.
	GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1"}

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ElementalCluster{}, &ElementalClusterList{},
		&ElementalClusterUpgrade{}, &ElementalClusterUpgradeList{},
		&ElementalClusterTemplate{}, &ElementalClusterTemplateList{},
		&ElementalMachine{}, &ElementalMachineList{},
		&ElementalMachineTemplate{}, &ElementalMachineTemplateList{},
		&ElementalHost{}, &ElementalHostList{},
		&ElementalRegistration{}, &ElementalRegistrationList{},
		&ElementalHostUpgrade{}, &ElementalHostUpgradeList{},
		&ElementalRollout{}, &ElementalRolloutList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
