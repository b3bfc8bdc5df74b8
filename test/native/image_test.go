// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// trees are created once: the directory of an OS without a kernel, and its layer.
var trees struct {
	base  string
	layer v1.Layer
}

// files of a layer.
type files = osimage.Files

// kernel has the files that the toolkit looks for in an image that also becomes the recovery
// system.
var kernel = files{"boot/vmlinuz-6.4.0": "kernel", "boot/initrd-6.4.0": "initrd", "usr/lib/modules/6.4.0/modules.dep": ""}

func prepareTrees() {
	GinkgoHelper()
	trees.base = filepath.Join(GinkgoT().TempDir(), "tree")
	osimage.MakeTree(trees.base)
	trees.layer = osimage.LayerOf(trees.base)
}

// push pushes an OS image of the base tree and these files.
func push(registry *image.Registry, version string, more ...files) (uri, digest string) {
	GinkgoHelper()
	var layers []v1.Layer
	for _, each := range more {
		layers = append(layers, layer(each))
	}
	return pushLayers(registry, version, layers...)
}

func pushLayers(registry *image.Registry, version string, more ...v1.Layer) (uri, digest string) {
	GinkgoHelper()
	layers := append([]v1.Layer{trees.layer, layer(files{"etc/os-release": osimage.Release(version)})}, more...)
	pushed := osimage.Push(context.Background(), registry, version, layers...)
	return pushed.URI(), pushed.Digest
}

func layer(content files) v1.Layer {
	GinkgoHelper()
	return layerWith(content, nil)
}

// layerWith creates a layer of files, some of which have a mode of their own.
func layerWith(content files, modes map[string]int64) v1.Layer {
	GinkgoHelper()
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, path := range slices.Sorted(maps.Keys(content)) { // the same files must have the same digest
		text := content[path]
		// All files have the same time, as in reproducible builds.
		Expect(writer.WriteHeader(&tar.Header{Name: path, Size: int64(len(text)), Mode: cmp.Or(modes[path], 0o755)})).To(Succeed())
		_, err := writer.Write([]byte(text))
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(writer.Close()).To(Succeed())
	made, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	Expect(err).NotTo(HaveOccurred())
	return made
}
