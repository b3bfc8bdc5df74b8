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

// tokenLife of the registration tokens made here.
const tokenLife = time.Hour

// Door is a registration with its signing key, as the registration controller would have made it.
type Door struct {
	Namespace string
	Name      string
	URI       string
	// SigningKey is PEM-encoded.
	SigningKey []byte
	// Token for hosts that register.
	Token string
}

// OpenDoor makes a namespace with a registration in it. The spec's URI and token are filled in.
func OpenDoor(ctx context.Context, plane *apiserver.Server, endpoint, name string, spec infrav1.ElementalRegistrationSpec) (*Door, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "door-"}}
	if err := plane.Client.Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("creating namespace: %w", err)
	}
	door := &Door{Namespace: namespace.Name, Name: name, URI: token.RegistrationURI(endpoint, namespace.Name, name)}
	var err error
	if door.SigningKey, err = token.NewSigningKey(); err != nil {
		return nil, err
	}
	if door.Token, err = token.SignRegistrationToken(door.SigningKey, door.URI, time.Now(), tokenLife); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: door.Namespace, Name: name},
		Data:       map[string][]byte{token.SecretKey: door.SigningKey},
	}
	if err := plane.Client.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("creating Secret with the signing key: %w", err)
	}
	spec.Config.Elemental.Registration.URI = door.URI
	spec.Config.Elemental.Registration.Token = door.Token
	registration := &infrav1.ElementalRegistration{
		ObjectMeta: metav1.ObjectMeta{Namespace: door.Namespace, Name: name}, Spec: spec,
	}
	if err := plane.Client.Create(ctx, registration); err != nil {
		return nil, fmt.Errorf("creating ElementalRegistration: %w", err)
	}
	return door, nil
}
