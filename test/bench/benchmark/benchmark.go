// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package benchmark has what benchmarks have in common: sizes from the environment, and figures in a file.
package benchmark

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
)

// Size sets a size to that of an environment variable, if it is set.
func Size(variable string, size *int) {
	GinkgoHelper()
	if value := os.Getenv(variable); value != "" {
		var err error
		*size, err = strconv.Atoi(value)
		Expect(err).NotTo(HaveOccurred(), variable)
	}
}

// Write writes the figures of a benchmark to bin/bench, as JSON.
func Write(benchmark string, figures any) {
	GinkgoHelper()
	root, err := repository.Root()
	Expect(err).NotTo(HaveOccurred())
	folder := filepath.Join(root, "bin", "bench")
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	data, err := json.MarshalIndent(figures, "", "  ")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(folder, benchmark+".json"), append(data, '\n'), 0o644)).To(Succeed())
}
