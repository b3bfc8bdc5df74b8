// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package token

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var (
	// ErrInvalid says that the token is malformed, badly signed, expired, or lacks a claim.
	ErrInvalid = errors.New("token is not valid")
	// ErrOther says that the token's claims are for another subject or registration.
	ErrOther = errors.New("token is for something else")
)

// maxLength of a token. An EdDSA token with our claims has some 400 bytes.
const maxLength = 4096

// Audience are the URIs of a registration; a token has to contain one of them.
type Audience []string

// VerifyRegistrationToken verifies a token that was signed with the registration's key: its subject and its audience both have to be a URI
// of the registration. It fails with ErrInvalid or ErrOther.
func VerifyRegistrationToken(raw string, key ed25519.PublicKey, uris Audience, now time.Time) error {
	claims, err := peek(raw)
	if err != nil {
		return err
	}
	if !slices.Contains(uris, claims.Subject) {
		return fmt.Errorf("%w: its subject is %q", ErrOther, claims.Subject)
	}
	return verify(raw, key, claims.Subject, uris, now)
}

// CheckHostClaims checks the claims of a host's token without verifying the signature. It lets a caller refuse a foreign token before it
// looks up the host.
func CheckHostClaims(raw, host string, uris Audience) error {
	claims, err := peek(raw)
	if err != nil {
		return err
	}
	if claims.Subject != host {
		return fmt.Errorf("%w: its subject is %q, want %q", ErrOther, claims.Subject, host)
	}
	if !overlap(claims.Audience, uris) {
		return fmt.Errorf("%w: its audience is %q, want one of %q", ErrOther, claims.Audience, uris)
	}
	return nil
}

// VerifyHostToken verifies a token that was signed with the host's key. It also bounds the token's lifetime, since a host signs its tokens
// itself, and a leaked one must not be valid for years. It fails with ErrInvalid or ErrOther.
func VerifyHostToken(raw string, key ed25519.PublicKey, host string, uris Audience, now time.Time) error {
	if err := CheckHostClaims(raw, host, uris); err != nil {
		return err
	}
	if err := verify(raw, key, host, uris, now); err != nil {
		return err
	}
	claims, err := peek(raw)
	if err != nil {
		return err
	}
	return checkLife(claims, now)
}

// checkLife requires that a token expires soon after it was issued and, because iat is optional, soon after now; the tolerated clock skew is
// added.
func checkLife(claims *jwt.RegisteredClaims, now time.Time) error {
	const longest = wire.HostTokenLifetime + wire.ClockSkew
	if claims.ExpiresAt.Sub(now) > longest {
		return fmt.Errorf("%w: it expires in more than %s", ErrInvalid, longest)
	}
	if claims.IssuedAt != nil && claims.ExpiresAt.Sub(claims.IssuedAt.Time) > longest {
		return fmt.Errorf("%w: it lives longer than %s", ErrInvalid, longest)
	}
	return nil
}

// peek parses the claims, unverified, and checks that the required ones are present.
func peek(raw string) (*jwt.RegisteredClaims, error) {
	if len(raw) > maxLength {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrInvalid, maxLength)
	}
	claims := &jwt.RegisteredClaims{}
	if _, _, err := jwt.NewParser(jwt.WithStrictDecoding()).ParseUnverified(raw, claims); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	switch {
	case claims.Subject == "":
		return nil, fmt.Errorf("%w: it has no sub", ErrInvalid)
	case len(claims.Audience) == 0:
		return nil, fmt.Errorf("%w: it has no aud", ErrInvalid)
	case claims.ExpiresAt == nil:
		return nil, fmt.Errorf("%w: it has no exp", ErrInvalid)
	}
	return claims, nil
}

// verify is the only function that verifies a signature. It repeats the checks of peek, whose result must only be used to refuse a token.
func verify(raw string, key ed25519.PublicKey, subject string, uris Audience, now time.Time) error {
	if len(key) != ed25519.PublicKeySize || len(uris) == 0 {
		return fmt.Errorf("%w: there is nothing to verify it with", ErrInvalid)
	}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithStrictDecoding(),
		jwt.WithExpirationRequired(),
		jwt.WithSubject(subject),
		jwt.WithAudience(uris...),
		jwt.WithIssuedAt(),
		jwt.WithLeeway(wire.ClockSkew),
		jwt.WithTimeFunc(func() time.Time { return now }),
	)
	_, err := parser.ParseWithClaims(raw, &jwt.RegisteredClaims{}, func(*jwt.Token) (any, error) { return key, nil })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrTokenInvalidSubject), errors.Is(err, jwt.ErrTokenInvalidAudience):
		return fmt.Errorf("%w: %w", ErrOther, err)
	default:
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool { return slices.Contains(b, one) })
}
