// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// tokenSecret reads the Secret with the registration's token, or returns one that is still to be created. One that is somebody
// else's is left alone.
func (r *Reconciler) tokenSecret(ctx context.Context, registration *infrav1.ElementalRegistration) (*corev1.Secret, error) {
	name := registration.Name + infrav1.RegistrationTokenSecretSuffix
	secret := &corev1.Secret{}
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: registration.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return newSecret(registration, name, infrav1.RegistrationTokenSecretType), nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	case isFormers(secret, registration):
		return nil, notOwned(waitingForFormer, name)
	case secret.Type != infrav1.RegistrationTokenSecretType:
		return nil, notOwned("Secret %s is needed for the registration token and is left alone, because its type is %s instead of %s: "+
			"move what it holds to a Secret of another name, and delete it", name, secret.Type, infrav1.RegistrationTokenSecretType)
	case !metav1.IsControlledBy(secret, registration):
		return nil, notOwned("Secret %s is needed for the registration token and is left alone, because this ElementalRegistration is not "+
			"the controller in its metadata.ownerReferences: delete it to have a new one made", name)
	}
	return secret, nil
}

func notOwned(format string, args ...any) error {
	return &unusableSecretError{reason: infrav1.TokenSecretNotOwnedReason, message: fmt.Sprintf(format, args...)}
}

// writeToken creates the Secret, or replaces the token in it unless it has changed since it was read.
func (r *Reconciler) writeToken(ctx context.Context, secret *corev1.Secret, signed string) error {
	before := secret.DeepCopy()
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[infrav1.RegistrationTokenSecretKey] = []byte(signed)
	ctrl.LoggerFrom(ctx).Info("Writing a new registration token", "Secret", klog.KObj(secret))
	if secret.ResourceVersion == "" {
		if err := r.Client.Create(ctx, secret); err != nil {
			return fmt.Errorf("creating Secret %s: %w", secret.Name, err)
		}
		return nil
	}
	if err := r.Client.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing Secret %s: %w", secret.Name, err)
	}
	return nil
}
