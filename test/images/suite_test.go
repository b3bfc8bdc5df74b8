// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	binEnv     = "ELEMENTAL_BIN"
	baseImage  = "localhost/test-base:v1"
	goImage    = "localhost/test-go:v1"
	osImage    = "localhost/elemental-os"
	osVersion  = "v0.8.0"
	commit     = "initial-version"
	secretWord = "registration-token-of-the-test"
)

func TestImages(t *testing.T) {
	specs.Run(t, "OS images")
}

// site is the build environment, with its own container storage, so that nothing of this machine is used or
// left behind.
var site struct {
	root, folder string
	env          []string
	releases     string
}

var _ = BeforeSuite(func(ctx SpecContext) {
	if missing := missingHere(); missing != "" {
		Skip("the suite on OS images is skipped: " + missing)
	}
	var err error
	site.root = specs.Root()
	site.folder, err = os.MkdirTemp("", "images-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, site.folder)
	storage := filepath.Join(site.folder, "storage.conf")
	content := "[storage]\ndriver = \"vfs\"\ngraphroot = \"" + site.folder + "/graph\"\nrunroot = \"" + site.folder + "/run\"\n"
	Expect(os.WriteFile(storage, []byte(content), 0o600)).To(Succeed())
	site.env = append(os.Environ(), "CONTAINERS_STORAGE_CONF="+storage, "BUILDAH_ISOLATION=chroot", "MAKEFLAGS=", "TMPDIR="+site.folder)
	site.releases = serveReleases()
	buildBase(ctx)
	buildGo(ctx)
})

// missingHere describes what this machine lacks.
func missingHere() string {
	if os.Geteuid() != 0 {
		return "it needs root"
	}
	if os.Getenv(binEnv) == "" {
		return binEnv + " does not name the elemental CLI"
	}
	for _, program := range append([]string{"buildah", "make", "unsquashfs"}, basePrograms...) {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed"
		}
	}
	for _, file := range bootLoader {
		if _, err := os.Stat(file.from); err != nil {
			return file.from + " is not there"
		}
	}
	return ""
}

// run fails the spec if the command fails.
func run(ctx context.Context, name string, args ...string) string {
	GinkgoHelper()
	said, err := try(ctx, name, args...)
	Expect(err).NotTo(HaveOccurred(), said)
	return said
}

// try runs a command in the repository, with the site's storage.
func try(ctx context.Context, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = site.root, site.env
	said, err := command.CombinedOutput()
	_, _ = GinkgoWriter.Write(said)
	return strings.TrimSpace(string(said)), err
}

// build runs a target of the Makefile with the site's build arguments.
func build(ctx context.Context, target string, variables ...string) (string, error) {
	args := []string{target, "CONTAINER_TOOL=buildah", "DOCKER_FLAGS=--build-arg GO_IMAGE=" + goImage, "BASE=" + baseImage, "PACKAGES=",
		"KUBERNETES_URL=" + site.releases, "GITHUB_URL=" + site.releases, "OS_IMAGE=" + osImage, "VERSION=" + osVersion, "GIT_COMMIT=" + commit}
	return try(ctx, "make", append(args, variables...)...)
}
