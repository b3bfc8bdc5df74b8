// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

// keyLife is how long a signing key is cached. Renewing a key also renews the registration's token, and that change of the registration's
// status.tokenExpirationTime ends the cached key at once; keyLife is for Secrets that are changed by hand or missing.
const keyLife = 30 * time.Second

// keyRetry is how long a failure to read the key is cached. It is short, because hosts are refused meanwhile, and not zero, because anyone
// who reaches the port can cause reads.
const keyRetry = time.Second

// registrations finds registrations in the informer cache, and caches their keys: Secrets are neither watched nor listed, and a burst of
// hosts reads a Secret once.
type registrations struct {
	cached   client.Reader
	live     client.Reader
	clock    clock.PassiveClock
	endpoint string

	mu   sync.Mutex
	keys map[types.NamespacedName]*signingKey
}

// signingKey is the public key of a registration, or why there is none. Its lock is held while the Secret is read, so that concurrent
// requests share one read.
type signingKey struct {
	mu      sync.Mutex
	readFor string // resourceVersion of the registration
	readAt  time.Time
	life    time.Duration // of what was read then
	public  ed25519.PublicKey
	err     error
}

func newRegistrations(cached, live client.Reader, clock clock.PassiveClock, endpoint string) *registrations {
	return &registrations{
		cached: cached, live: live, clock: clock, endpoint: endpoint, keys: map[types.NamespacedName]*signingKey{},
	}
}

// get returns a registration that must not be modified: it belongs to the cache.
func (r *registrations) get(ctx context.Context, key types.NamespacedName) (*infrav1.ElementalRegistration, error) {
	registration := &infrav1.ElementalRegistration{}
	err := r.cached.Get(ctx, key, registration, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, refuse(http.StatusNotFound, "there is no registration %s in namespace %s", key.Name, key.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("finding ElementalRegistration %s: %w", key, err)
	}
	return registration, nil
}

// uris returns the URIs of a registration: under this server's endpoint, the one that an operator has set, and the one that its hosts are
// configured with, which differs while that is the one of before. A deleted registration keeps the first, so that its hosts are still served.
func (r *registrations) uris(ctx context.Context, key types.NamespacedName) token.Audience {
	uris := token.Audience{token.RegistrationURI(r.endpoint, key.Namespace, key.Name)}
	registration, err := r.get(ctx, key)
	if err != nil {
		return uris
	}
	for _, said := range []string{registration.Spec.Config.Elemental.Registration.URI, registration.Status.URI} {
		if said != "" && !slices.Contains(uris, said) {
			uris = append(uris, said)
		}
	}
	return uris
}

// verificationKey returns the key that a registration's tokens are verified with.
func (r *registrations) verificationKey(ctx context.Context, of *infrav1.ElementalRegistration) (ed25519.PublicKey, error) {
	key := r.entry(client.ObjectKeyFromObject(of))
	key.mu.Lock()
	defer key.mu.Unlock()
	if key.readFor != of.ResourceVersion || r.clock.Since(key.readAt) > key.life {
		key.public, key.life, key.err = r.readKey(ctx, of)
		key.readFor, key.readAt = of.ResourceVersion, r.clock.Now()
	}
	return key.public, key.err
}

func (r *registrations) entry(name types.NamespacedName) *signingKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, found := r.keys[name]
	if !found {
		key = &signingKey{}
		r.keys[name] = key
	}
	return key
}

// readKey also returns how long its result may be cached. The result is shared by all callers, so the read is not cancelled with the first,
// whose token has not been verified yet.
func (r *registrations) readKey(ctx context.Context, of *infrav1.ElementalRegistration) (ed25519.PublicKey, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	name := types.NamespacedName{Namespace: of.Namespace, Name: of.Name}
	if reference := of.Spec.PrivateKeyRef; reference != nil && reference.Name != "" {
		name.Name = reference.Name
	}
	secret := &corev1.Secret{}
	if err := r.live.Get(ctx, name, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, keyLife, refuseForNow("registration " + of.Name + " has no signing key yet")
		}
		return nil, keyRetry, fmt.Errorf("reading signing key of ElementalRegistration %s/%s: %w", of.Namespace, of.Name, err)
	}
	private, err := token.ParseSigningKey(secret.Data[token.SecretKey])
	if err != nil {
		return nil, keyLife, fmt.Errorf("reading key %q of Secret %s: %w", token.SecretKey, name, err)
	}
	return private.Public().(ed25519.PublicKey), keyLife, nil
}
