// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crds gives osVersionManagement in the CustomResourceDefinition of ElementalMachineTemplates the schema that
// controller-gen makes from the Go type OSVersion. In Go it is an open map that all kinds share, and controller-gen has no marker
// for known keys of a map. The other kinds keep an open schema: see infrav1.OSVersion.
//
// usage: controller-gen crd paths=./hack/crds/schema output:crd:stdout | go run ./hack/crds DEFINITION
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// field that gets the schema.
const field = "osVersionManagement"

func main() {
	if err := run(os.Args[1:], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(args []string, source io.Reader) error {
	if len(args) != 1 {
		return errors.New("usage: controller-gen crd paths=./hack/crds/schema output:crd:stdout | go run ./hack/crds DEFINITION")
	}
	typed, err := io.ReadAll(source)
	if err != nil {
		return fmt.Errorf("reading the schema of %s: %w", field, err)
	}
	open, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("reading the definition: %w", err)
	}
	written, err := typeField(open, typed)
	if err != nil {
		return fmt.Errorf("giving %s in %s its schema: %w", field, args[0], err)
	}
	if err := os.WriteFile(args[0], written, 0o644); err != nil {
		return fmt.Errorf("writing the definition: %w", err)
	}
	return nil
}

// typeField returns the definition with the schema of the field from another definition, which has it at its top. The
// description stays.
func typeField(definition, typed []byte) ([]byte, error) {
	source, err := decode(typed)
	if err != nil {
		return nil, fmt.Errorf("the source: %w", err)
	}
	wanted, err := source.property(field)
	if err != nil {
		return nil, fmt.Errorf("the source, which controller-gen has to write: %w", err)
	}
	target, err := decode(definition)
	if err != nil {
		return nil, err
	}
	former, err := target.property("spec", "template", "spec", field)
	if err != nil {
		return nil, err
	}
	description := former["description"]
	clear(former)
	maps.Copy(former, wanted)
	former["description"] = description
	encoded, err := yaml.Marshal(target)
	if err != nil {
		return nil, fmt.Errorf("encoding it: %w", err)
	}
	return append([]byte("---\n"), encoded...), nil
}

// definition is a CustomResourceDefinition.
type definition map[string]any

func decode(content []byte) (definition, error) {
	decoded := definition{}
	if err := yaml.Unmarshal(content, &decoded); err != nil {
		return nil, fmt.Errorf("decoding it: %w", err)
	}
	return decoded, nil
}

// property is the schema of a field, by its path, in the only version of the definition. It is not copied.
func (d definition) property(path ...string) (map[string]any, error) {
	versions, _, _ := unstructured.NestedFieldNoCopy(d, "spec", "versions")
	all, _ := versions.([]any)
	if len(all) != 1 {
		return nil, fmt.Errorf("it has %d versions, and not one", len(all))
	}
	steps := []string{"schema", "openAPIV3Schema"}
	for _, name := range path {
		steps = append(steps, "properties", name)
	}
	version, _ := all[0].(map[string]any)
	found, _, _ := unstructured.NestedFieldNoCopy(version, steps...)
	schema, isSchema := found.(map[string]any)
	if !isSchema {
		return nil, fmt.Errorf("it has no field %s", strings.Join(path, "."))
	}
	return schema, nil
}
