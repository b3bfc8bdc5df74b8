// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// BinEnv is the environment variable with the path of the elemental toolkit's CLI.
const BinEnv = "ELEMENTAL_BIN"

// RealCLI is a label of specs that need the elemental toolkit's CLI: what they are about is not in its stand-in.
const RealCLI = "real-cli"

// HasRealCLI reports whether there is the elemental toolkit's CLI.
func HasRealCLI() bool { return os.Getenv(BinEnv) != "" }

// CLI is the path of the elemental toolkit's CLI or, without it, of the stand-in that the Makefile builds in the repository with this root.
func CLI(root string) string {
	GinkgoHelper()
	if HasRealCLI() {
		return os.Getenv(BinEnv)
	}
	path := filepath.Join(root, "bin", "lab", "elemental")
	Expect(path).To(BeARegularFile(), "run make standin")
	return path
}
