// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

const (
	contentHashLength = 2 * sha256.Size // in hexadecimal: all of it
)

// ContentHash identifies spec.template.spec of a template, independent of the order of keys, with the image of its ManagedOSVersion.
// Metadata is ignored: Cluster API propagates it without a rollout.
func ContentHash(template *infrav1.ElementalMachineTemplate) (string, error) {
	spec := template.Spec.Template.Spec
	spec.OSVersionManagement = osversion.OfTemplate(template)
	canonical, err := canonicalJSON(spec)
	if err != nil {
		return "", fmt.Errorf("encoding spec.template.spec of ElementalMachineTemplate %s: %w", template.Name, err)
	}
	return digest(contentHashLength, string(canonical)), nil
}

// ClassContent identifies the content of all templates of a ClusterClass, given in the order of their names.
func ClassContent(templates []*infrav1.ElementalMachineTemplate) (string, error) {
	parts := []string{}
	for _, template := range templates {
		hash, err := ContentHash(template)
		if err != nil {
			return "", err
		}
		parts = append(parts, template.Name, hash)
	}
	return digest(contentHashLength, parts...), nil
}

// canonicalJSON encodes twice, because raw JSON within a value keeps its order of keys the first time.
func canonicalJSON(value any) ([]byte, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

// digest hashes parts, each with its length, so that no two lists of parts have the same encoding.
func digest(length int, parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s/", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))[:length]
}
