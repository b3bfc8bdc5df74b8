// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// patience is the timeout of what happens in the guest; it takes longer while others compile.
	patience = 15 * time.Minute
	look     = 200 * time.Millisecond
	// uefi is a value of the environment variable FIRMWARE; the default is BIOS.
	uefi = "uefi"
)

var (
	// root of the repository.
	root     string
	firmware = os.Getenv("FIRMWARE")
	plane    *apiserver.Server
	api      *apitest.API
	registry *image.Registry
)

func TestBoot(t *testing.T) {
	SetDefaultEventuallyPollingInterval(look)
	specs.Run(t, "Boot")
}

var _ = BeforeSuite(func() {
	if missing := missingHere(); missing != "" {
		Skip("the suite on virtual machines with GRUB is skipped: " + missing)
	}
	var err error
	root = specs.Root()
	prepareTree()
	prepareSoftware()
	registry, err = image.Start(image.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(registry.Close)
	plane = apiserver.StartForSuite()
	api, err = apitest.StartAPI(plane, GinkgoT().TempDir(), nil)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(api.Stop)
})

// missingHere describes what this machine lacks.
func missingHere() string {
	if os.Getuid() != 0 {
		return "it needs root, for the files of an OS"
	}
	for _, name := range []string{"qemu-system-x86_64", "grub-mkimage", "mcopy", "sfdisk", "modprobe", "cpio", "mke2fs", "rsync", "ip"} {
		if _, err := exec.LookPath(name); err != nil {
			return err.Error() + "; hack/test/boot-packages.sh installs Debian's packages"
		}
	}
	return ""
}

// built is a program of this repository.
func built(name string) string {
	GinkgoHelper()
	path := filepath.Join(root, "bin", name)
	Expect(path).To(BeARegularFile(), "run make test-boot")
	return path
}

func copySparse(from, to string) error {
	return exec.Command("cp", "--sparse=always", from, to).Run()
}
