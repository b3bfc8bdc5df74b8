// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// LockCLI waits until no other suite with the real CLI runs: the CLI treats any snapshot that is attached to a loop device as its own. It detaches
// what a run that was killed has left attached.
func LockCLI() {
	GinkgoHelper()
	Lock("elemental-native.lock")
	for _, loop := range strings.Fields(Run("sh", "-c", `losetup --list --noheadings --output NAME,BACK-FILE | sed -nE 's#^(\S+) +\S*/ginkgo[0-9]+/\S*(COS_|snapshot\.img).*#\1#p' | tac`)) {
		Run("losetup", "-d", loop)
	}
}

// Lock waits until no other process of this machine has this lock, and holds it until the end of the node of Ginkgo.
func Lock(name string) {
	GinkgoHelper()
	file, err := os.OpenFile(filepath.Join(os.TempDir(), name), os.O_CREATE|os.O_RDWR, 0o600)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(file.Close)
	Expect(syscall.Flock(int(file.Fd()), syscall.LOCK_EX)).To(Succeed())
}
