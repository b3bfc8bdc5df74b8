// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package token_test

import (
	"bytes"
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

// fuzzKey is the same in every run, so that the corpus keeps its meaning.
var fuzzKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// FuzzToken tries to find a token that is accepted although it was not signed.
func FuzzToken(f *testing.F) {
	public := fuzzKey.Public().(ed25519.PublicKey)
	good, err := token.SignHostToken(fuzzKey, host, uri, now)
	if err != nil {
		f.Fatal(err)
	}
	parts := strings.Split(good, ".")
	f.Add(good)
	f.Add(parts[0] + "." + parts[1] + ".")
	f.Add("eyJhbGciOiJub25lIn0." + parts[1] + ".")
	f.Add("eyJhbGciOiJIUzI1NiJ9." + parts[1] + "." + parts[2])
	f.Add(good + "=")
	f.Fuzz(func(t *testing.T, raw string) {
		if token.VerifyHostToken(raw, public, host, token.Audience{uri}, now) == nil && raw != good {
			t.Errorf("accepted %q, which nobody signed", raw)
		}
		if token.VerifyRegistrationToken(raw, public, token.Audience{uri}, now) == nil {
			t.Errorf("accepted %q as a registration's", raw)
		}
		_, _ = token.ExpiresAt(raw)
	})
}

// FuzzPublicKey tries to find a key that reads differently once it is written.
func FuzzPublicKey(f *testing.F) {
	pem, err := token.EncodePublicKey(fuzzKey.Public().(ed25519.PublicKey))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(pem)
	f.Add(pem + pem)
	f.Add("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n")
	f.Fuzz(func(t *testing.T, raw string) {
		key, err := token.ParsePublicKey(raw)
		if err != nil {
			return
		}
		again, err := token.EncodePublicKey(key)
		if err != nil {
			t.Fatalf("writing %q: %v", raw, err)
		}
		if read, err := token.ParsePublicKey(again); err != nil || !read.Equal(key) {
			t.Errorf("%q reads as another key once it is written", raw)
		}
	})
}
