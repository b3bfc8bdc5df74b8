// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package token_test

import (
	"bytes"
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

// fuzzKey is the same in each run, so that its tokens can be seeds.
func fuzzKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
}

const (
	fuzzHost = "m-1"
	fuzzURI  = "https://elemental.example.com/elemental/v1/namespaces/a/registrations/b"
)

// FuzzVerifyHostToken tries to find a token that is believed and that the key did not sign.
func FuzzVerifyHostToken(f *testing.F) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	genuine, err := token.SignHostToken(fuzzKey(), fuzzHost, fuzzURI, now)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(genuine)
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add("..")
	f.Add("a.b.c.d")
	public := fuzzKey().Public().(ed25519.PublicKey)
	f.Fuzz(func(t *testing.T, raw string) {
		uris := token.Audience{fuzzURI}
		if err := token.VerifyHostToken(raw, public, fuzzHost, uris, now); err == nil && raw != genuine {
			t.Errorf("believed %q", raw)
		}
		_, _ = token.ExpiresAt(raw)
	})
}

// FuzzParsePublicKey tries to find a text that is taken for a key and does not stay that key.
func FuzzParsePublicKey(f *testing.F) {
	encoded, err := token.EncodePublicKey(fuzzKey().Public().(ed25519.PublicKey))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded)
	f.Add(encoded + encoded)
	f.Add("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n")
	f.Add("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
	f.Fuzz(func(t *testing.T, raw string) {
		key, err := token.ParsePublicKey(raw)
		if err != nil {
			return
		}
		again, err := token.EncodePublicKey(key)
		if err != nil {
			t.Fatalf("encoding what was parsed: %v", err)
		}
		same, err := token.ParsePublicKey(again)
		if err != nil || !same.Equal(key) {
			t.Errorf("%q became %q: %v", raw, again, err)
		}
	})
}

// FuzzParseSigningKey tries to find a Secret's content that is taken for a key and cannot sign.
func FuzzParseSigningKey(f *testing.F) {
	encoded, err := token.NewSigningKey()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded)
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		key, err := token.ParseSigningKey(raw)
		if err == nil && len(ed25519.Sign(key, raw)) != ed25519.SignatureSize {
			t.Errorf("%q cannot sign", raw)
		}
	})
}
