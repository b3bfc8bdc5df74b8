// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package token

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// SecretKey is the key of a registration's Secret that holds its private key (PEM, PKCS #8).
const SecretKey = "privKey"

const (
	privateKeyBlock = "PRIVATE KEY"
	publicKeyBlock  = "PUBLIC KEY"
)

// NewSigningKey generates a private key for a registration, PEM-encoded (PKCS #8).
func NewSigningKey() ([]byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating signing key: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encoding signing key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateKeyBlock, Bytes: encoded}), nil
}

// ParseSigningKey parses the result of NewSigningKey.
func ParseSigningKey(encoded []byte) (ed25519.PrivateKey, error) {
	block, err := onlyBlock(encoded, privateKeyBlock)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block)
	if err != nil {
		return nil, fmt.Errorf("parsing PKCS #8 private key: %w", err)
	}
	private, isEd25519 := parsed.(ed25519.PrivateKey)
	if !isEd25519 {
		return nil, fmt.Errorf("private key is %T, want Ed25519", parsed)
	}
	return private, nil
}

// EncodePublicKey returns a public key in the format of ElementalHost.spec.pubKey: PEM-encoded (PKIX).
func EncodePublicKey(public ed25519.PublicKey) (string, error) {
	encoded, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", fmt.Errorf("encoding public key: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: publicKeyBlock, Bytes: encoded})), nil
}

// ParsePublicKey parses the result of EncodePublicKey.
func ParsePublicKey(encoded string) (ed25519.PublicKey, error) {
	block, err := onlyBlock([]byte(encoded), publicKeyBlock)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKIXPublicKey(block)
	if err != nil {
		return nil, fmt.Errorf("parsing PKIX public key: %w", err)
	}
	public, isEd25519 := parsed.(ed25519.PublicKey)
	if !isEd25519 {
		return nil, fmt.Errorf("public key is %T, want Ed25519", parsed)
	}
	return public, nil
}

// SameKey reports whether two strings are the same public key. An invalid one equals no other.
func SameKey(a, b string) bool {
	one, errOne := ParsePublicKey(a)
	other, errOther := ParsePublicKey(b)
	return errOne == nil && errOther == nil && one.Equal(other)
}

// onlyBlock decodes a PEM document of one block. A second one is rejected, since it would be ambiguous which key applies.
func onlyBlock(encoded []byte, blockType string) ([]byte, error) {
	block, rest := pem.Decode(encoded)
	if block == nil {
		return nil, errors.New("key is not PEM-encoded")
	}
	if block.Type != blockType {
		return nil, fmt.Errorf("PEM block is %q, want %q", block.Type, blockType)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("more follows the first PEM block")
	}
	return block.Bytes, nil
}

// RegistrationURI is the URI of a registration: the audience of its tokens. The endpoint is the base URL of the Elemental API, for example
// "https://elemental.example.com:9090".
func RegistrationURI(endpoint, namespace, registration string) string {
	return strings.TrimRight(endpoint, "/") + RegistrationPath(namespace, registration)
}

// RegistrationPath is the path of RegistrationURI.
func RegistrationPath(namespace, registration string) string {
	return "/elemental/v1/namespaces/" + namespace + "/registrations/" + registration
}
