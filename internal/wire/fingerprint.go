// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
)

// KeyFingerprint identifies a host's PEM-encoded public key for people: the SHA-256 of its PKIX (DER) encoding, in the format of OpenSSH.
// The host prints it on its console and the manager stores it in the ElementalHost, so both have to use this function. It is empty for input
// that is not PEM. By hand:
//
//	openssl pkey -in private.key -pubout -outform DER | openssl dgst -sha256 -binary | base64
func KeyFingerprint(publicKey string) string {
	block, _ := pem.Decode([]byte(publicKey))
	if block == nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}
