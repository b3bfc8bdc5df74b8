// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package token

import (
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// SignRegistrationToken signs the token with which new hosts register. The key is the registration's, PEM-encoded; the uri is that of
// RegistrationURI. The token is valid for duration.
func SignRegistrationToken(key []byte, uri string, now time.Time, duration time.Duration) (string, error) {
	private, err := ParseSigningKey(key)
	if err != nil {
		return "", fmt.Errorf("reading signing key: %w", err)
	}
	return sign(private, uri, uri, now, duration)
}

// SignHostToken signs a host's token for one registration, valid for wire.HostTokenLifetime. Signing is cheap; sign one for each request.
func SignHostToken(key ed25519.PrivateKey, host, uri string, now time.Time) (string, error) {
	return sign(key, host, uri, now, wire.HostTokenLifetime)
}

// ExpiresAt returns when a token expires, without verifying it. It fails for a token without exp, as issued by the predecessor.
func ExpiresAt(raw string) (time.Time, error) {
	claims := jwt.RegisteredClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(raw, &claims); err != nil {
		return time.Time{}, fmt.Errorf("parsing token: %w", err)
	}
	if claims.ExpiresAt == nil {
		return time.Time{}, fmt.Errorf("token does not expire: %w", jwt.ErrTokenRequiredClaimMissing)
	}
	return claims.ExpiresAt.Time, nil
}

// Issuer returns the issuer of a token, without verifying it: empty for tokens of this package, which have none. That of the predecessor's
// host tokens is the agent's version.
func Issuer(raw string) string {
	claims, err := peek(raw)
	if err != nil {
		return ""
	}
	return claims.Issuer
}

func sign(key ed25519.PrivateKey, subject, audience string, now time.Time, lifetime time.Duration) (string, error) {
	claims := jwt.RegisteredClaims{
		Subject:   subject,
		Audience:  jwt.ClaimStrings{audience},
		IssuedAt:  jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(lifetime)),
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims).SignedString(key)
	if err != nil {
		return "", fmt.Errorf("signing token: %w", err)
	}
	return signed, nil
}
