// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// maxBootstrapText bounds data that are unpacked, in bytes: it is what a Secret that is not compressed can hold.
const maxBootstrapText = corev1.MaxSecretSize

// gzipMagic begins data that a bootstrap provider has compressed, which cloud-init unpacks: RKE2Configs have spec.gzipUserData.
var gzipMagic = []byte{0x1f, 0x8b}

// bootstrapText returns the bootstrap data of a Secret, unpacked. The answer to a host is JSON, which would replace bytes that are not text:
// the reason says why a host cannot have them.
func bootstrapText(secret *corev1.Secret) (text, reason string) {
	value := secret.Data[bootstrapValue]
	if bytes.HasPrefix(value, gzipMagic) {
		unpacked, err := unpackBootstrap(value)
		if err != nil {
			return "", fmt.Sprintf("the value of Secret %s is compressed and cannot be unpacked: %v", secret.Name, err)
		}
		value = unpacked
	}
	if !utf8.Valid(value) {
		return "", fmt.Sprintf("the value of Secret %s is not text in UTF-8: encode binary content with base64", secret.Name)
	}
	return string(value), ""
}

func unpackBootstrap(value []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(value))
	if err != nil {
		return nil, err
	}
	unpacked, err := io.ReadAll(io.LimitReader(reader, maxBootstrapText+1))
	if err == nil && len(unpacked) > maxBootstrapText {
		err = fmt.Errorf("it is larger than %d bytes", maxBootstrapText)
	}
	return unpacked, err
}
