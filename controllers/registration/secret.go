// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// unusableSecretError says that somebody has to do something about a registration's Secret.
type unusableSecretError struct{ reason, message string }

func (e *unusableSecretError) Error() string { return e.message }

// waitingForFormer is about a Secret with this name.
const waitingForFormer = "Waiting for Secret %s to go with the deleted ElementalRegistration of this name that it was made for: it is recreated then"

// newSecret returns a Secret of a registration, which goes with it: with "clusterctl move", and when it is deleted.
func newSecret(registration *infrav1.ElementalRegistration, name string, of corev1.SecretType) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: registration.Namespace,
			Name:      name,
			Labels:    map[string]string{clusterctlv1.ClusterctlMoveLabel: ""},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(registration, infrav1.GroupVersion.WithKind("ElementalRegistration")),
			},
		},
		Type: of,
	}
}

// isFormers reports whether a Secret was made for a registration of the same name that has been deleted: Kubernetes is about
// to delete it, too, and with it the key of the tokens.
func isFormers(secret *corev1.Secret, registration *infrav1.ElementalRegistration) bool {
	maker := metav1.GetControllerOf(secret)
	return maker != nil && maker.Kind == "ElementalRegistration" && maker.Name == registration.Name && maker.UID != registration.UID
}
