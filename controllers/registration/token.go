// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"crypto/ed25519"
	"fmt"
	"time"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

// maxTokenDuration is the default of tokenDuration and its upper bound.
const maxTokenDuration = 8760 * time.Hour

// renewToken replaces a token that has lived for half of its life, or that hosts could not register with.
// It returns when to look again.
func (r *Reconciler) renewToken(said *infrav1.Registration, key []byte) (time.Duration, error) {
	lifetime := tokenDuration(said)
	now := r.Clock.Now()
	if left := r.lifeLeft(said, key, now); left > lifetime/2 && left <= lifetime {
		return max(left-lifetime/2, minRenewal), nil
	}
	signed, err := token.SignRegistrationToken(key, said.URI, now, lifetime)
	if err != nil {
		return 0, fmt.Errorf("signing registration token: %w", err)
	}
	said.Token = signed
	return max(lifetime-lifetime/2, minRenewal), nil
}

// lifeLeft is how long the present token is still good for, and 0 if it is not good at all.
func (r *Reconciler) lifeLeft(said *infrav1.Registration, key []byte, now time.Time) time.Duration {
	private, err := token.ParseSigningKey(key)
	if err != nil {
		return 0
	}
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok || token.VerifyRegistrationToken(said.Token, public, token.Audience{said.URI}, now) != nil {
		return 0
	}
	expires, err := token.ExpiresAt(said.Token)
	if err != nil {
		return 0
	}
	return expires.Sub(now)
}

func tokenDuration(said *infrav1.Registration) time.Duration {
	if said.TokenDuration == nil || said.TokenDuration.Duration <= 0 {
		return maxTokenDuration
	}
	return min(said.TokenDuration.Duration, maxTokenDuration)
}
