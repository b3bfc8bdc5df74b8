// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// tokenLife of the registration tokens created here.
const tokenLife = time.Hour

// RegistrationEndpoint is a registration with its signing key, as the registration controller would create it.
type RegistrationEndpoint struct {
	Namespace string
	Name      string
	URI       string
	// SigningKey is PEM-encoded.
	SigningKey []byte
	// Token for hosts that register.
	Token string
}

// OpenRegistration creates a namespace with a registration, for an Elemental API at that address, which is in its status.
func OpenRegistration(ctx context.Context, plane *apiserver.Server, address, name string, spec infrav1.ElementalRegistrationSpec) (*RegistrationEndpoint, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "registration-"}}
	if err := plane.Client.Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("creating namespace: %w", err)
	}
	endpoint := &RegistrationEndpoint{Namespace: namespace.Name, Name: name, URI: token.RegistrationURI(address, namespace.Name, name)}
	var err error
	if endpoint.SigningKey, err = token.NewSigningKey(); err != nil {
		return nil, err
	}
	if endpoint.Token, err = token.SignRegistrationToken(endpoint.SigningKey, endpoint.URI, time.Now(), tokenLife); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: endpoint.Namespace, Name: name},
		Data:       map[string][]byte{token.SecretKey: endpoint.SigningKey},
	}
	if err := plane.Client.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("creating Secret with the signing key: %w", err)
	}
	registration := &infrav1.ElementalRegistration{
		ObjectMeta: metav1.ObjectMeta{Namespace: endpoint.Namespace, Name: name}, Spec: spec,
	}
	if err := plane.Client.Create(ctx, registration); err != nil {
		return nil, fmt.Errorf("creating ElementalRegistration: %w", err)
	}
	registration.Status.URI, registration.Status.CACert = endpoint.URI, "authorities of the controller"
	if err := plane.Client.Status().Update(ctx, registration); err != nil {
		return nil, fmt.Errorf("writing status of ElementalRegistration: %w", err)
	}
	return endpoint, nil
}
