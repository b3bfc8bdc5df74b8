// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

// signingKey reads the registration's key, PEM-encoded. The default Secret is made when it is missing;
// one that is named in spec is not ours to make.
func (r *Reconciler) signingKey(ctx context.Context, registration *infrav1.ElementalRegistration) ([]byte, error) {
	name, own := secretName(registration)
	secret := &corev1.Secret{}
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: registration.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err) && own:
		return r.newSigningKey(ctx, registration)
	case apierrors.IsNotFound(err):
		return nil, unusableKey("Secret %s, named in spec.privateKeyRef, does not exist: create it or remove the reference", name)
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	case isFormers(secret, registration):
		return nil, unusableKey(waitingForFormer, name)
	case secret.Type == infrav1.RegistrationTokenSecretType:
		return nil, unusableKey("Secret %s holds the token of another ElementalRegistration: recreate this one under another name", name)
	}
	if _, err := token.ParseSigningKey(secret.Data[token.SecretKey]); err != nil {
		return nil, unusableKey("Key %q of Secret %s is not an Ed25519 private key (PEM, PKCS #8): correct it, or delete the Secret to have a new one made",
			token.SecretKey, name)
	}
	return secret.Data[token.SecretKey], nil
}

func unusableKey(format string, args ...any) error {
	return &unusableSecretError{reason: infrav1.SigningKeyFailedReason, message: fmt.Sprintf(format, args...)}
}

// secretName names the Secret, and reports whether it is the one that the controller makes.
func secretName(registration *infrav1.ElementalRegistration) (name string, own bool) {
	if ref := registration.Spec.PrivateKeyRef; ref != nil && ref.Name != "" && ref.Name != registration.Name {
		return ref.Name, false
	}
	return registration.Name, true
}

func (r *Reconciler) newSigningKey(ctx context.Context, registration *infrav1.ElementalRegistration) ([]byte, error) {
	key, err := token.NewSigningKey()
	if err != nil {
		return nil, fmt.Errorf("making a signing key: %w", err)
	}
	secret := newSecret(registration, registration.Name, infrav1.RegistrationKeySecretType)
	secret.Data = map[string][]byte{token.SecretKey: key}
	ctrl.LoggerFrom(ctx).Info("Creating signing key", "Secret", klog.KObj(secret))
	if err := r.Client.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("creating Secret %s: %w", secret.Name, err)
	}
	return key, nil
}
