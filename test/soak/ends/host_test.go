// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
)

// fillStatePartition leaves no space for another image on the host.
func fillStatePartition(u *upgrade) {
	GinkgoHelper()
	Expect(u.host.Disk().SetStateBytes(0)).To(Succeed())
	DeferCleanup(freeStatePartition, u)
}

func freeStatePartition(u *upgrade) {
	GinkgoHelper()
	Expect(u.host.Disk().SetStateBytes(disk.DefaultStateBytes)).To(Succeed())
}

// failChecks adds a user's check to the host that passes once, before the image is written, and in no boot after that.
func failChecks(u *upgrade) {
	GinkgoHelper()
	passed := checkOf(u) + ".passed"
	script := "#!/bin/sh\nif [ ! -e " + passed + " ]; then : > " + passed + "; exit 0; fi\necho the array is degraded >&2\nexit 1\n"
	Expect(os.MkdirAll(filepath.Dir(checkOf(u)), 0o755)).To(Succeed())
	Expect(os.WriteFile(checkOf(u), []byte(script), 0o755)).To(Succeed())
	DeferCleanup(passChecks, u)
}

func passChecks(u *upgrade) {
	GinkgoHelper()
	Expect(os.RemoveAll(checkOf(u))).To(Succeed())
	Expect(os.RemoveAll(checkOf(u) + ".passed")).To(Succeed())
}

func checkOf(u *upgrade) string { return filepath.Join(u.host.Path(assess.RequiredDir), "10-storage") }
