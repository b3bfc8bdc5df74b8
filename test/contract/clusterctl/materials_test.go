// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	checksums = "SHA256SUMS"
	materials = "sbom.spdx.json"
)

var _ = Describe("A release", func() {
	It("lists the checksum of each of its assets", func() {
		files, err := os.ReadDir(release)
		Expect(err).NotTo(HaveOccurred())
		expected := []string{}
		for _, file := range files {
			if file.Name() != checksums {
				expected = append(expected, fmt.Sprintf("%x  %s", sha256.Sum256([]byte(asset(file.Name()))), file.Name()))
			}
		}
		Expect(expected).To(ContainElements(HaveSuffix("  "+infrastructure), HaveSuffix("  "+materials)))
		Expect(strings.Split(strings.TrimSpace(asset(checksums)), "\n")).To(ConsistOf(expected))
	})

	It("lists its source materials", func() {
		document := struct{ SPDXVersion, Name string }{}
		Expect(json.Unmarshal([]byte(asset(materials)), &document)).To(Succeed())
		Expect(document.SPDXVersion).To(Equal("SPDX-2.3"))
		Expect(document.Name).To(HaveSuffix(" " + tag))
	})

	It("is the same, byte for byte, when it is written again", func() {
		again := GinkgoT().TempDir()
		Expect(writeRelease(tag, again)).Error().NotTo(HaveOccurred())
		sums, err := os.ReadFile(filepath.Join(again, checksums))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(sums)).To(Equal(asset(checksums)))
	})
})
