// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

//go:embed testdata/tree.sh
var treeScript string

// MakeTree makes the tree of an OS image without a kernel: what the toolkit's hooks need, and where a machine mounts things.
func MakeTree(dir string) {
	GinkgoHelper()
	Run("bash", "-c", treeScript, "tree.sh", dir)
}

// Release is the content of /etc/os-release of a version.
func Release(version string) string {
	return fmt.Sprintf("NAME=\"Elemental test\"\nID=elemental-test\nPRETTY_NAME=%q\n", version)
}

// LayerOf is a layer with the content of a directory. It leaves an archive beside the directory.
func LayerOf(dir string, options ...tarball.LayerOption) v1.Layer {
	GinkgoHelper()
	archive := dir + ".tar"
	Run("tar", "-C", dir, "--sort=name", "-cf", archive, ".")
	layer, err := tarball.LayerFromFile(archive, options...)
	Expect(err).NotTo(HaveOccurred())
	return layer
}

// Of is an image for linux/amd64 of layers, with an entry point.
func Of(layers []v1.Layer, command ...string) v1.Image {
	GinkgoHelper()
	made, err := mutate.AppendLayers(empty.Image, layers...)
	Expect(err).NotTo(HaveOccurred())
	config, err := made.ConfigFile()
	Expect(err).NotTo(HaveOccurred())
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config.Entrypoint = "linux", "amd64", command
	made, err = mutate.ConfigFile(made, config)
	Expect(err).NotTo(HaveOccurred())
	return made
}

// Push pushes an OS image of layers to a registry.
func Push(ctx context.Context, registry *image.Registry, version string, layers ...v1.Layer) image.Image {
	GinkgoHelper()
	made := Of(layers)
	pushed := image.Image{Repository: "elemental/os", Tag: version, Ref: registry.Host() + "/elemental/os:" + version}
	reference, err := name.ParseReference(pushed.Ref)
	Expect(err).NotTo(HaveOccurred())
	Expect(remote.Write(reference, made, remote.WithTransport(registry.Transport()), remote.WithContext(ctx))).To(Succeed())
	digest, err := made.Digest()
	Expect(err).NotTo(HaveOccurred())
	pushed.Digest, pushed.PlatformDigest = digest.String(), digest.String()
	return pushed
}
