// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// definition is what the pages tell of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []version `json:"versions"`
	} `json:"spec"`
}

type version struct {
	Name    string   `json:"name"`
	Columns []column `json:"additionalPrinterColumns"`
	Schema  struct {
		Root schema `json:"openAPIV3Schema"`
	} `json:"schema"`
}

// column that "kubectl get" prints; those of a priority above 0 only with "--output wide".
type column struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	JSONPath    string `json:"jsonPath"`
	Priority    int    `json:"priority"`
}

// schema is one node of a structural schema.
type schema struct {
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Format      string            `json:"format"`
	Pattern     string            `json:"pattern"`
	Default     any               `json:"default"`
	Enum        []any             `json:"enum"`
	Minimum     *int64            `json:"minimum"`
	Maximum     *int64            `json:"maximum"`
	MinLength   *int64            `json:"minLength"`
	MaxLength   *int64            `json:"maxLength"`
	MinItems    *int64            `json:"minItems"`
	MaxItems    *int64            `json:"maxItems"`
	Required    []string          `json:"required"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Values      *schema           `json:"additionalProperties"`
	Open        bool              `json:"x-kubernetes-preserve-unknown-fields"`
	Rules       []struct {
		Message string `json:"message"`
	} `json:"x-kubernetes-validations"`
}

// readKinds reads all definitions of a folder, in the order of their files.
func readKinds(folder string) ([]definition, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("looking for definitions: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no definitions in %s: run this in the root of the repository, after \"make manifests\"", folder)
	}
	kinds := make([]definition, len(files))
	for i, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a definition: %w", err)
		}
		if err := yaml.Unmarshal(content, &kinds[i]); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", file, err)
		}
	}
	return kinds, nil
}
