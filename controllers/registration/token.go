// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

// maxTokenDuration is the default of tokenDuration and its upper bound.
const maxTokenDuration = 8760 * time.Hour

// keptToken is a token that hosts can register with.
type keptToken struct {
	secretName string
	expires    time.Time
	renewIn    time.Duration
}

// keepToken replaces a token that has lived for half of its life, or that hosts could not register with at that URI.
func (r *Reconciler) keepToken(ctx context.Context, registration *infrav1.ElementalRegistration, uri string) (keptToken, error) {
	key, err := r.signingKey(ctx, registration)
	if err != nil {
		return keptToken{}, err
	}
	secret, err := r.tokenSecret(ctx, registration)
	if err != nil {
		return keptToken{}, err
	}
	lifetime, now := tokenDuration(registration), r.Clock.Now()
	held := string(secret.Data[infrav1.RegistrationTokenSecretKey])
	left := lifeLeft(held, uri, key, now)
	if left <= lifetime/2 || left > lifetime {
		if held, err = token.SignRegistrationToken(key, uri, now, lifetime); err != nil {
			return keptToken{}, fmt.Errorf("signing registration token: %w", err)
		}
		if err := r.writeToken(ctx, secret, held); err != nil {
			return keptToken{}, err
		}
		left = lifetime
	}
	expires, err := token.ExpiresAt(held)
	if err != nil {
		return keptToken{}, err
	}
	return keptToken{secretName: secret.Name, expires: expires, renewIn: max(left-lifetime/2, minRenewal)}, nil
}

// lifeLeft is how long a token is still good for, and 0 if it is not good at all.
func lifeLeft(held, uri string, key []byte, now time.Time) time.Duration {
	private, err := token.ParseSigningKey(key)
	if err != nil {
		return 0
	}
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok || token.VerifyRegistrationToken(held, public, token.Audience{uri}, now) != nil {
		return 0
	}
	expires, err := token.ExpiresAt(held)
	if err != nil {
		return 0
	}
	return expires.Sub(now)
}

func tokenDuration(registration *infrav1.ElementalRegistration) time.Duration {
	asked := registration.Spec.Config.Elemental.Registration.TokenDuration
	if asked == nil || asked.Duration <= 0 {
		return maxTokenDuration
	}
	return min(asked.Duration, maxTokenDuration)
}
