// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

// WithCACert returns the content of the configuration file at path with another registration.caCert. Everything else is preserved, including
// keys that this version does not know. The file is not changed.
func WithCACert(path, caCert string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	all := map[string]any{}
	if err := yaml.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("decoding configuration %s: %w", path, err)
	}
	registration, is := all["registration"].(map[string]any)
	if !is {
		return nil, fmt.Errorf("configuration %s has no registration", path)
	}
	registration["caCert"] = caCert
	changed, err := yaml.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encoding configuration: %w", err)
	}
	return changed, nil
}
