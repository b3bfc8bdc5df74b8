// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

const (
	certificateLife = 10 * time.Minute
	// logName ends in a tree ID, as that of sigstore's first log does.
	logName = "rekor.test - 1"
	// logIndex of all entries: each is the only one in its tree.
	logIndex = 0
)

// oidIssuer is the extension of sigstore's certificates with the OIDC issuer that authenticated the subject. Source:
// fulcio, docs/oid-info.md.
var oidIssuer = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}

// Sigstore issues certificates and keeps a log, as an instance of sigstore does. It does not use sigstore's code, so
// that the code that verifies is not tested against itself.
type Sigstore struct {
	authority    *x509.Certificate
	authorityKey *ecdsa.PrivateKey
	logKey       *ecdsa.PrivateKey
}

// Identity of a keyless signature.
type Identity struct {
	// Issuer that authenticated the subject.
	Issuer string
	// Subject is a URI.
	Subject string
	// LoggedAfter is the time from the issue of the certificate to the log entry of the signature. Certificates are
	// valid for 10 minutes.
	LoggedAfter time.Duration
}

// NewSigstore creates an instance.
func NewSigstore() (*Sigstore, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of an authority: %w", err)
	}
	logKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of a log: %w", err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sigstore", Organization: []string{"sigstore.test"}},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	encoded, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of an authority: %w", err)
	}
	authority, err = x509.ParseCertificate(encoded)
	return &Sigstore{authority: authority, authorityKey: authorityKey, logKey: logKey}, err
}

// TrustedRoot is the trust root that verifies the instance's signatures, as "cosign trusted-root create" writes it.
func (s *Sigstore) TrustedRoot() (string, error) {
	public, id, err := s.log()
	if err != nil {
		return "", err
	}
	valid := map[string]any{"start": s.authority.NotBefore.Format(time.RFC3339)}
	content, err := json.Marshal(map[string]any{
		"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
		"tlogs": []any{map[string]any{
			"baseUrl": "https://rekor.test", "hashAlgorithm": "SHA2_256", "logId": map[string]any{"keyId": id},
			"publicKey": map[string]any{"rawBytes": public, "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": valid},
		}},
		"certificateAuthorities": []any{map[string]any{
			"uri":       "https://fulcio.test",
			"subject":   map[string]any{"organization": "sigstore.test", "commonName": "sigstore"},
			"certChain": map[string]any{"certificates": []any{map[string]any{"rawBytes": s.authority.Raw}}},
			"validFor":  valid,
		}},
	})
	return string(content), err
}

// log is the public key of the log, and its ID.
func (s *Sigstore) log() (public, id []byte, err error) {
	public, err = x509.MarshalPKIXPublicKey(s.logKey.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the key of a log: %w", err)
	}
	sum := sha256.Sum256(public)
	return public, sum[:], nil
}

// issue generates a key and a certificate for it.
func (s *Sigstore) issue(to Identity, issued time.Time) (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	subject, err := url.Parse(to.Subject)
	if err != nil {
		return nil, nil, fmt.Errorf("issuing a certificate: %w", err)
	}
	issuer, err := asn1.MarshalWithParams(to.Issuer, "utf8")
	if err != nil {
		return nil, nil, fmt.Errorf("issuing a certificate: %w", err)
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), URIs: []*url.URL{subject}, NotBefore: issued, NotAfter: issued.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		ExtraExtensions: []pkix.Extension{{Id: oidIssuer, Value: issuer}},
	}, s.authority, key.Public(), s.authorityKey)
	return key, certificate, err
}

// Annotations are those that cosign adds to the payload of a keyless signature.
func (s *Sigstore) Annotations(payload []byte, by Identity) (map[string]string, error) {
	issued := time.Now().Add(-time.Hour)
	key, certificate, err := s.issue(by, issued)
	if err != nil {
		return nil, err
	}
	signature, err := signWith(key, payload)
	if err != nil {
		return nil, err
	}
	body, err := entryOf("hashedrekord", map[string]any{
		"data":      map[string]any{"hash": hashOf(payload)},
		"signature": map[string]any{"content": signature, "publicKey": map[string]any{"content": pemOf(certificate)}},
	})
	if err != nil {
		return nil, err
	}
	promised, promise, err := s.promise(body, issued.Add(by.LoggedAfter))
	if err != nil {
		return nil, err
	}
	entry, err := json.Marshal(map[string]any{"SignedEntryTimestamp": promise, "Payload": promised})
	return map[string]string{
		signatureAnnotation:               base64.StdEncoding.EncodeToString(signature),
		"dev.sigstore.cosign/certificate": string(pemOf(certificate)),
		"dev.sigstore.cosign/bundle":      string(entry),
	}, err
}

// promise is the log's signed entry timestamp for an entry, and the content that it signs.
func (s *Sigstore) promise(body []byte, at time.Time) (promised map[string]any, signature []byte, err error) {
	_, id, err := s.log()
	if err != nil {
		return nil, nil, err
	}
	promised = map[string]any{"body": body, "integratedTime": at.Unix(), "logIndex": logIndex, "logID": hex.EncodeToString(id)}
	canonical, err := json.Marshal(promised) // canonical: keys are sorted, and nothing in it is escaped by Go
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a promise: %w", err)
	}
	signature, err = signWith(s.logKey, canonical)
	return promised, signature, err
}

func entryOf(kind string, spec map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{"apiVersion": "0.0.1", "kind": kind, "spec": spec})
}

func hashOf(content []byte) map[string]any {
	sum := sha256.Sum256(content)
	return map[string]any{"algorithm": "sha256", "value": hex.EncodeToString(sum[:])}
}

func pemOf(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}

func signWith(key *ecdsa.PrivateKey, content []byte) ([]byte, error) {
	sum := sha256.Sum256(content)
	return ecdsa.SignASN1(rand.Reader, key, sum[:])
}
