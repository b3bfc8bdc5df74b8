// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command sbom prints the bill of materials of a release as SPDX 2.3, in JSON: the manager and the agent, and the Go
// modules that are linked into each on any platform they are released for. What it prints depends on go.mod, the Go
// that runs it and its flags alone.
//
// usage: go run ./hack/sbom -version v0.8.0 -created 1767225600, in the root of the repository
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	version := flag.String("version", "", "version that is released, with a leading v")
	created := flag.Int64("created", 0, "when the release was made, in seconds since 1970; that of its commit keeps the document the same")
	flag.Parse()
	if *version == "" || *created == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := print(*version, time.Unix(*created, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func print(version string, created time.Time) error {
	doc, err := describe(version, created)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(doc); err != nil {
		return fmt.Errorf("writing the document: %w", err)
	}
	return nil
}
