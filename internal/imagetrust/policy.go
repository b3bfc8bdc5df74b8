// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagetrust

import (
	"crypto"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Rule says who has to have signed the images of a prefix.
type Rule struct {
	// Prefix as the operator wrote it.
	Prefix string
	// Problem is why no identity of the rule can be verified at present; empty if they can, or if there is none.
	Problem    string
	keys       []signature.Verifier
	identities identities
}

// For returns the rule for the images of a repository: the one with the longest matching prefix. It is nil if no signature is required. The
// text of an error is for operators.
func For(verification *wire.ImageVerification, repository name.Repository) (*Rule, error) {
	if verification == nil {
		return nil, nil
	}
	longest, found := 0, -1
	for i, rule := range verification.Rules {
		prefix, err := imageuri.ParsePrefix(rule.Prefix)
		if err != nil {
			return nil, fmt.Errorf("imageVerification.rules[%d].prefix %q: %w", i, rule.Prefix, err)
		}
		if len(prefix) > longest && imageuri.Begins(repository.Name(), prefix) {
			longest, found = len(prefix), i
		}
	}
	switch {
	case found >= 0:
		return compile(verification, found)
	case verification.Unmatched == wire.UnmatchedAccept:
		return nil, nil
	}
	return nil, fmt.Errorf("no rule of imageVerification matches %s, and unmatched images are refused: add a rule with a matching prefix", repository.Name())
}

func compile(verification *wire.ImageVerification, index int) (*Rule, error) {
	rule := verification.Rules[index]
	compiled := &Rule{Prefix: rule.Prefix}
	for i, encoded := range rule.PublicKeys {
		key, err := ParseKey(encoded)
		if err != nil {
			return nil, fmt.Errorf("imageVerification.rules[%d].publicKeys[%d]: %w", index, i, err)
		}
		compiled.keys = append(compiled.keys, key)
	}
	var err error
	compiled.identities, err = compileIdentities(verification, index)
	compiled.Problem = compiled.identities.problem
	return compiled, err
}

// ParseKey reads a PEM-encoded public key, as cosign writes it.
func ParseKey(encoded string) (signature.Verifier, error) {
	const remedy = "it has to be a PEM-encoded public key (ECDSA, RSA or Ed25519), as cosign.pub is"
	key, err := cryptoutils.UnmarshalPEMToPublicKey([]byte(encoded))
	if err != nil {
		return nil, errors.New(remedy)
	}
	verifier, err := signature.LoadVerifier(key, crypto.SHA256)
	if err != nil {
		return nil, errors.New(remedy)
	}
	return verifier, nil
}
