// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
)

// Groups of the kinds in Cluster API's contracts, besides its own.
const (
	controlPlaneGroup = "controlplane.cluster.x-k8s.io"
	bootstrapGroup    = "bootstrap.cluster.x-k8s.io"
)

// notBootstrapOf returns why a Secret that a Machine names is not its bootstrap data; empty if it may be. Otherwise anyone with write access
// to Machines could make a host read the kubeconfig or the keys of any cluster in the namespace.
func notBootstrapOf(machine *clusterv1.Machine, named *corev1.Secret) string {
	for _, owner := range named.OwnerReferences {
		if ownsClusters(owner) {
			return fmt.Sprintf("Secret %s, which spec.bootstrap.dataSecretName of Machine %s names, belongs to %s %s: name a Secret with bootstrap data",
				named.Name, machine.Name, owner.Kind, owner.Name)
		}
	}
	if !machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		return notMadeByHand(machine, named)
	}
	config, controller := machine.Spec.Bootstrap.ConfigRef, metav1.GetControllerOf(named)
	if controller == nil || groupOf(*controller) != config.APIGroup || controller.Kind != config.Kind || controller.Name != config.Name {
		return fmt.Sprintf("Secret %s, which spec.bootstrap.dataSecretName of Machine %s names, is not controlled by %s %s, its spec.bootstrap.configRef: "+
			"have the bootstrap provider write the Secret, or remove the reference from a Machine whose Secret is made by hand",
			named.Name, machine.Name, config.Kind, config.Name)
	}
	return ""
}

// notMadeByHand returns why a Secret cannot be one that a person created for a Machine without a configRef.
func notMadeByHand(machine *clusterv1.Machine, named *corev1.Secret) string {
	if secret.HasPurposeSuffix(named.Name) {
		return fmt.Sprintf("Secret %s, which spec.bootstrap.dataSecretName of Machine %s names, has the name of a cluster's kubeconfig or keys: "+
			"put the bootstrap data into one with another name", named.Name, machine.Name)
	}
	for _, owner := range named.OwnerReferences {
		if groupOf(owner) == bootstrapGroup {
			return fmt.Sprintf("Secret %s, which spec.bootstrap.dataSecretName of Machine %s names, belongs to %s %s, which is not in its spec.bootstrap.configRef: "+
				"name a Secret that was made for this Machine", named.Name, machine.Name, owner.Kind, owner.Name)
		}
	}
	return ""
}

// ownsClusters reports whether an owner is a Cluster or a control plane, whose Secrets belong to a whole cluster.
func ownsClusters(owner metav1.OwnerReference) bool {
	group := groupOf(owner)
	return group == controlPlaneGroup || group == clusterv1.GroupVersion.Group && owner.Kind == "Cluster"
}

// groupOf an owner. Versions are not compared: they change when the owner's kind gets a new one.
func groupOf(owner metav1.OwnerReference) string {
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return ""
	}
	return version.Group
}
