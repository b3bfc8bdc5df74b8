// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagetrust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// Annotations of a signature that was made with a certificate, and of its log entry. The certificate chain, which cosign stores as well, is
// ignored: the trusted root has all trusted authorities.
// Source: cosign, specs/SIGNATURE_SPEC.md.
const (
	CertificateAnnotation = "dev.sigstore.cosign/certificate"
	LogEntryAnnotation    = "dev.sigstore.cosign/bundle"
)

// certifiedMediaType is for bundles whose entry has an inclusion promise, as cosign's annotation does, but no inclusion proof.
const certifiedMediaType = "application/vnd.dev.sigstore.bundle+json;version=0.1"

// logEntry is the content of LogEntryAnnotation.
type logEntry struct {
	SignedEntryTimestamp []byte
	Payload              struct {
		Body           []byte `json:"body"`
		IntegratedTime int64  `json:"integratedTime"`
		LogIndex       int64  `json:"logIndex"`
		LogID          string `json:"logID"`
	}
}

// verifyCertified reports whether a certificate of one of the identities signed the payload.
func (i identities) verifyCertified(signature, payload []byte, annotations map[string]string) error {
	signed, err := certifiedBundle(signature, payload, annotations)
	if err != nil {
		return err
	}
	_, err = i.verify(signed, verify.WithArtifact(bytes.NewReader(payload)))
	return err
}

// certifiedBundle converts the annotations to the library's format.
func certifiedBundle(signature, payload []byte, annotations map[string]string) (*bundle.Bundle, error) {
	block, _ := pem.Decode([]byte(annotations[CertificateAnnotation]))
	if block == nil {
		return nil, errors.New("its annotation " + CertificateAnnotation + " is not a PEM-encoded certificate")
	}
	entry, err := entryOf(annotations)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(payload)
	content, err := json.Marshal(map[string]any{
		"mediaType": certifiedMediaType,
		"verificationMaterial": map[string]any{
			"certificate": map[string]any{"rawBytes": block.Bytes},
			"tlogEntries": []any{entry},
		},
		"messageSignature": map[string]any{
			"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": sum[:]},
			"signature":     signature,
		},
	})
	if err != nil {
		return nil, errors.New("its annotations cannot be converted to a bundle: " + legible(err))
	}
	signed := &bundle.Bundle{}
	if err := signed.UnmarshalJSON(content); err != nil {
		return nil, errors.New("its annotations are not a valid Sigstore bundle: " + legible(err))
	}
	return signed, nil
}

func entryOf(annotations map[string]string) (map[string]any, error) {
	if annotations[LogEntryAnnotation] == "" {
		return nil, errors.New("it is not in a transparency log: it has no annotation " + LogEntryAnnotation)
	}
	entry := logEntry{}
	err := json.Unmarshal([]byte(annotations[LogEntryAnnotation]), &entry)
	id, notHex := hex.DecodeString(entry.Payload.LogID)
	body := struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}{}
	if err = errors.Join(err, notHex, json.Unmarshal(entry.Payload.Body, &body)); err != nil {
		return nil, errors.New("its annotation " + LogEntryAnnotation + " is not an entry of a transparency log: " + legible(err))
	}
	return map[string]any{
		"logIndex":          entry.Payload.LogIndex,
		"logId":             map[string]any{"keyId": id},
		"kindVersion":       map[string]any{"kind": body.Kind, "version": body.APIVersion},
		"integratedTime":    entry.Payload.IntegratedTime,
		"inclusionPromise":  map[string]any{"signedEntryTimestamp": entry.SignedEntryTimestamp},
		"canonicalizedBody": entry.Payload.Body,
	}, nil
}
