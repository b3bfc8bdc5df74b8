// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	bundleType    = "application/vnd.dev.sigstore.bundle.v0.3+json"
	statementType = "application/vnd.in-toto+json"

	// SignPredicate is the predicate type of the statement that "cosign sign" signs about an image.
	SignPredicate = "https://sigstore.dev/cosign/sign/v1"
)

// Statement about the image with a digest, with a predicate type.
func Statement(digest, predicate string) []byte {
	return fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`,
		strings.TrimPrefix(digest, "sha256:"), predicate)
}

// Bundle of a statement that is signed with the key, as "cosign sign --key" creates it.
func (s *Signer) Bundle(statement []byte) ([]byte, error) {
	signature, err := signWith(s.key, preAuthenticated(statement))
	if err != nil {
		return nil, err
	}
	return bundleOf(statement, signature, map[string]any{"publicKey": map[string]any{"hint": "of nobody"}})
}

// Bundle of a statement that is signed by a certificate, as "cosign sign" creates it.
func (s *Sigstore) Bundle(statement []byte, by Identity) ([]byte, error) {
	issued := time.Now().Add(-time.Hour)
	key, certificate, err := s.issue(by, issued)
	if err != nil {
		return nil, err
	}
	signature, err := signWith(key, preAuthenticated(statement))
	if err != nil {
		return nil, err
	}
	envelope, err := json.Marshal(envelopeOf(statement, signature))
	if err != nil {
		return nil, err
	}
	body, err := entryOf("dsse", map[string]any{
		"envelopeHash": hashOf(envelope), "payloadHash": hashOf(statement),
		"signatures": []any{map[string]any{"signature": base64.StdEncoding.EncodeToString(signature), "verifier": pemOf(certificate)}},
	})
	if err != nil {
		return nil, err
	}
	entry, err := s.proven(body, issued.Add(by.LoggedAfter))
	if err != nil {
		return nil, err
	}
	return bundleOf(statement, signature, map[string]any{
		"certificate": map[string]any{"rawBytes": certificate}, "tlogEntries": []any{entry},
	})
}

// proven is a log entry with the log's signed entry timestamp, and with the inclusion proof of the only entry
// of its tree.
func (s *Sigstore) proven(body []byte, at time.Time) (map[string]any, error) {
	_, promise, err := s.promise(body, at)
	if err != nil {
		return nil, err
	}
	_, id, err := s.log()
	if err != nil {
		return nil, err
	}
	root := sha256.Sum256(append([]byte{0}, body...))
	note := logName + "\n1\n" + base64.StdEncoding.EncodeToString(root[:]) + "\n"
	signature, err := signWith(s.logKey, []byte(note))
	if err != nil {
		return nil, err
	}
	checkpoint := note + "\n\u2014 rekor.test " + base64.StdEncoding.EncodeToString(append(id[:4:4], signature...)) + "\n"
	return map[string]any{
		"logIndex": logIndex, "logId": map[string]any{"keyId": id}, "kindVersion": map[string]any{"kind": "dsse", "version": "0.0.1"},
		"integratedTime": at.Unix(), "inclusionPromise": map[string]any{"signedEntryTimestamp": promise}, "canonicalizedBody": body,
		"inclusionProof": map[string]any{
			"logIndex": logIndex, "treeSize": 1, "rootHash": root[:], "checkpoint": map[string]any{"envelope": checkpoint},
		},
	}, nil
}

// preAuthenticated is the pre-authentication encoding that is signed for a statement. Source:
// secure-systems-lab/dsse, protocol.md.
func preAuthenticated(statement []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(statementType), statementType, len(statement), statement)
}

func envelopeOf(statement, signature []byte) map[string]any {
	return map[string]any{"payload": statement, "payloadType": statementType, "signatures": []any{map[string]any{"sig": signature}}}
}

func bundleOf(statement, signature []byte, material map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{
		"mediaType": bundleType, "verificationMaterial": material, "dsseEnvelope": envelopeOf(statement, signature),
	})
}

// BundleArtifact is a bundle as cosign pushes it: an artifact whose subject is an image or an index.
func BundleArtifact(content []byte, subject v1.Descriptor) (v1.Image, error) {
	artifact, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{Layer: static.NewLayer(content, bundleType)})
	if err != nil {
		return nil, fmt.Errorf("making the artifact of a bundle: %w", err)
	}
	refers, isImage := mutate.Subject(mutate.ConfigMediaType(artifact, bundleType), subject).(v1.Image)
	if !isImage {
		return nil, fmt.Errorf("making the artifact of a bundle: %T is no image", refers)
	}
	return refers, nil
}

// Refer pushes a bundle whose subject is what the tag of an image refers to.
func (r *Registry) Refer(ctx context.Context, pushed Image, bundle []byte) error {
	subject, err := name.NewDigest(r.addr+"/"+pushed.Repository+"@"+pushed.Digest, name.Insecure)
	if err != nil {
		return fmt.Errorf("referring to %s: %w", pushed.Ref, err)
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithTransport(r.Transport())}
	descriptor, err := remote.Head(subject, options...)
	if err != nil {
		return fmt.Errorf("referring to %s: %w", pushed.Ref, err)
	}
	artifact, err := BundleArtifact(bundle, *descriptor)
	if err != nil {
		return err
	}
	digest, err := artifact.Digest()
	if err != nil {
		return fmt.Errorf("referring to %s: %w", pushed.Ref, err)
	}
	return remote.Write(subject.Context().Digest(digest.String()), artifact, options...)
}
