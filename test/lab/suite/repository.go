// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const clusterAPIMetadata = `apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries:
- {major: 1, minor: 14, contract: v1beta2}
`

// clusterAPIProviders are those of Cluster API that clusterctl installs; manifest is the file in bin/manifests.
var clusterAPIProviders = []struct{ name, kind, label, file, manifest string }{
	{"cluster-api", "CoreProvider", "cluster-api", "core-components.yaml", "core.yaml"},
	{"kubeadm", "BootstrapProvider", "bootstrap-kubeadm", "bootstrap-components.yaml", "bootstrap-kubeadm.yaml"},
	{"kubeadm", "ControlPlaneProvider", "control-plane-kubeadm", "control-plane-components.yaml", "control-plane-kubeadm.yaml"},
}

// unreleased is an image in Cluster API's manifests before its release sets the tag.
var unreleased = regexp.MustCompile(`gcr\.io/k8s-staging-cluster-api/(\S+):main`)

// WriteRepository writes a clusterctl repository into a directory, with a release of this provider from the repository at root, and Cluster
// API's providers in the version of clusterctl next to it. The configuration that names it is directory/clusterctl.yaml.
func WriteRepository(ctx context.Context, root, directory, tag string) {
	GinkgoHelper()
	repository := WriteRelease(ctx, root, directory, tag)
	config, err := os.ReadFile(filepath.Join(repository, "clusterctl.yaml"))
	Expect(err).NotTo(HaveOccurred())
	files := WriteClusterAPI(ctx, root, repository)
	for _, provider := range clusterAPIProviders {
		config = fmt.Appendf(config, "- name: %s\n  type: %s\n  url: file://%s\n", provider.name, provider.kind, files[provider.kind])
	}
	Expect(os.WriteFile(filepath.Join(directory, "clusterctl.yaml"), config, 0o644)).To(Succeed())
}

// WriteClusterAPI adds the providers of Cluster API to a repository, and returns the files of their components by type.
func WriteClusterAPI(ctx context.Context, root, repository string) map[string]string {
	GinkgoHelper()
	version, files := clusterAPIVersion(ctx, root), map[string]string{}
	for _, provider := range clusterAPIProviders {
		folder := filepath.Join(repository, provider.label, version)
		Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
		manifest, err := os.ReadFile(filepath.Join(root, "bin", "manifests", provider.manifest))
		Expect(err).NotTo(HaveOccurred())
		files[provider.kind] = filepath.Join(folder, provider.file)
		Expect(os.WriteFile(files[provider.kind], released(manifest, version), 0o644)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(folder, "metadata.yaml"), []byte(clusterAPIMetadata), 0o644)).To(Succeed())
	}
	return files
}

// clusterAPIVersion is the version of the clusterctl that 'make tools' has built.
func clusterAPIVersion(ctx context.Context, root string) string {
	GinkgoHelper()
	said, err := exec.CommandContext(ctx, filepath.Join(root, "bin", "tools", "clusterctl"), "version", "--output", "short").Output()
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(said))
}

// released makes of a manifest what Cluster API's release makes of it: images of that version, which are not pulled where they are there.
func released(manifest []byte, version string) []byte {
	text := unreleased.ReplaceAllString(string(manifest), "registry.k8s.io/cluster-api/${1}:"+version)
	return []byte(strings.ReplaceAll(text, "imagePullPolicy: Always", "imagePullPolicy: IfNotPresent"))
}

// WriteRelease adds a release of this provider to the repository in a directory.
func WriteRelease(ctx context.Context, root, directory, tag string) (repository string) {
	GinkgoHelper()
	release, repository := filepath.Join(directory, "release"), filepath.Join(directory, "repository")
	for _, step := range [][]string{{"release.sh", release}, {"repository.sh", release, repository}} {
		command := exec.CommandContext(ctx, filepath.Join(root, "hack", "release", step[0]), step[1:]...)
		command.Env = append(os.Environ(), "RELEASE_TAG="+tag)
		said, err := command.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(said))
	}
	return repository
}
