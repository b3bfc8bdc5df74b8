// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const tag = "v0.8.0"

var root, release string

func TestContract(t *testing.T) {
	specs.Run(t, "clusterctl Contract Suite")
}

var _ = BeforeSuite(func() {
	root = specs.Root()
	release = GinkgoT().TempDir()
	Expect(writeRelease(tag, release)).Error().NotTo(HaveOccurred())
})

// writeRelease does what "make release" does.
func writeRelease(tag, directory string) (string, error) {
	command := exec.Command(filepath.Join(root, "hack", "release", "release.sh"), directory)
	command.Env = append(os.Environ(), "RELEASE_TAG="+tag, "MANAGER_IMAGE=registry.example.com/elemental/manager")
	said, err := command.CombinedOutput()
	return string(said), err
}

var _ = It("Creating a local provider repository: a folder for each provider and its version, with all of its assets", func() {
	repository := GinkgoT().TempDir()
	command := exec.Command(filepath.Join(root, "hack", "release", "repository.sh"), release, repository)
	command.Env = append(os.Environ(), "RELEASE_TAG="+tag)
	said, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(said))
	for provider, patterns := range map[string][]string{
		"infrastructure-elemental":    {infrastructure, "metadata.yaml", "cluster-template*.yaml", "clusterclass-*.yaml"},
		"runtime-extension-elemental": {extension, "metadata.yaml"},
	} {
		expected := []string{}
		for _, pattern := range patterns {
			expected = append(expected, assets(pattern)...)
		}
		files, err := os.ReadDir(filepath.Join(repository, provider, tag))
		Expect(err).NotTo(HaveOccurred())
		names := []string{}
		for _, file := range files {
			names = append(names, file.Name())
		}
		Expect(names).To(ConsistOf(expected))
	}
})

// asset of the release, as text.
func asset(name string) string {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(release, name))
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// objects of an asset. Its variables are not substituted: those of the components are at places where text
// is valid.
func objects(name string) capi.Manifests {
	GinkgoHelper()
	parsed, err := capi.Parse([]byte(asset(name)))
	Expect(err).NotTo(HaveOccurred())
	Expect(parsed).NotTo(BeEmpty(), name)
	return parsed
}

func assets(pattern string) []string {
	GinkgoHelper()
	paths, err := filepath.Glob(filepath.Join(release, pattern))
	Expect(err).NotTo(HaveOccurred())
	Expect(paths).NotTo(BeEmpty(), pattern)
	for i := range paths {
		paths[i] = filepath.Base(paths[i])
	}
	return paths
}

func describe(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}
