// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestUpgrade(t *testing.T) {
	specs.Run(t, "Upgrade attempts")
}

// memoryDir is a directory that costs nothing to flush, where there is one: markers are flushed often.
func memoryDir() string {
	GinkgoHelper()
	const memory = "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		return GinkgoT().TempDir()
	}
	dir, err := os.MkdirTemp(memory, "upgrade-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	return dir
}
