// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround_test

import (
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
)

var _ = It("All workarounds were checked against the Cluster API of go.mod", func() {
	version, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "sigs.k8s.io/cluster-api").Output()
	Expect(err).NotTo(HaveOccurred())
	Expect(strings.TrimSpace(string(version))).To(Equal(capiworkaround.Verified),
		"go through the list in doc.go: run the specs that fail when something is mended, read the functions that have none, "+
			"remove what is no longer needed, and then change Verified")
})
