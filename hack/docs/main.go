// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docs writes the part of the reference that is generated, into docs/reference: the fields of the kinds, from the
// CustomResourceDefinitions that controller-gen makes of the API types, and the flags of manager and agent, as they print them.
//
// usage: go run ./hack/docs, in the root of the repository
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// folder of the pages.
const folder = "docs/reference"

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func generate() error {
	kinds, err := readKinds("config/crd/bases")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "api.md"), apiPage(kinds), 0o644); err != nil {
		return fmt.Errorf("writing the page of the kinds: %w", err)
	}
	page, err := flagsPage()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "flags.md"), page, 0o644); err != nil {
		return fmt.Errorf("writing the page of the flags: %w", err)
	}
	return nil
}
