// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/tree"
)

// layerOf makes a layer of these entries; files have a content of the size that their header says.
func layerOf(headers ...tar.Header) v1.Layer {
	GinkgoHelper()
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, header := range headers {
		Expect(writer.WriteHeader(&header)).To(Succeed())
		_, err := writer.Write(make([]byte, header.Size))
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(writer.Close()).To(Succeed())
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	Expect(err).NotTo(HaveOccurred())
	return layer
}

var _ = Describe("What an image takes unpacked", func() {
	It("is counted in blocks and inodes, of what its layers leave", func() {
		h, ctx := newHub(), context.Background()
		store := image.NewStore(image.Options{Directory: GinkgoT().TempDir(), Architecture: "amd64", Transport: h.server.Client().Transport})
		built, err := mutate.AppendLayers(h.build("amd64"),
			layerOf(tar.Header{Name: "etc", Typeflag: tar.TypeDir}, tar.Header{Name: "etc/one", Size: 1}, tar.Header{Name: "etc/cache", Size: 9000}),
			layerOf(tar.Header{Name: "./etc/one", Size: 5000}, tar.Header{Name: "etc/.wh.cache"},
				tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "etc"}, tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "etc/one"}))
		Expect(err).NotTo(HaveOccurred())
		unpacked := func(of v1.Image, tag string) int64 {
			GinkgoHelper()
			Expect(remote.Write(h.reference(tag), of, remote.WithTransport(h.server.Client().Transport))).To(Succeed())
			resolved, err := store.Resolve(ctx, h.reference(tag).Name(), "")
			Expect(err).NotTo(HaveOccurred())
			Expect(store.Download(ctx, resolved)).To(Succeed())
			size, err := store.Unpacked(ctx, resolved.Digest)
			Expect(err).NotTo(HaveOccurred())
			return size
		}
		with, without := unpacked(built, "v1"), unpacked(h.build("amd64"), "v0")
		Expect(with - without).To(BeEquivalentTo((4096 + 256) + (8192 + 256) + 256))
	})

	It("is listed with the hash of each file that is sure to be where its layer has it", func(ctx SpecContext) {
		h := newHub()
		directory := GinkgoT().TempDir()
		store := image.NewStore(image.Options{Directory: directory, Architecture: "amd64", Transport: h.server.Client().Transport})
		built, at := time.Unix(1_700_000_000, 0), tar.Header{Typeflag: tar.TypeReg, ModTime: time.Unix(1_700_000_000, 0)}
		file := func(name string, size int64) tar.Header {
			header := at
			header.Name, header.Size = name, size
			return header
		}
		of, err := mutate.AppendLayers(empty.Image,
			layerOf(file("usr/bin/tool", 3), file("usr/bin/gone", 3), file("usr/bin/kept", 3), tar.Header{Name: "bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"}),
			layerOf(file("bin/tool", 3), file("usr/bin/.wh.gone", 0), file("usr/bin/kept", 5), file("etc/twice", 4), file("etc/twice", 5)))
		Expect(err).NotTo(HaveOccurred())
		Expect(remote.Write(h.reference("v1"), of, remote.WithTransport(h.server.Client().Transport))).To(Succeed())
		resolved, err := store.Resolve(ctx, h.reference("v1").Name(), "")
		Expect(err).NotTo(HaveOccurred())
		Expect(store.Download(ctx, resolved)).To(Succeed())
		first, err := store.Unpacked(ctx, resolved.Digest)
		Expect(err).NotTo(HaveOccurred())
		list, err := store.FileList(ctx, resolved.Digest)
		Expect(err).NotTo(HaveOccurred())
		listed, err := tree.ReadDownloaded(list)
		Expect(err).NotTo(HaveOccurred())
		kept := tree.NameOf("usr/bin/kept")
		Expect(listed).To(Equal(tree.Downloaded{Unpacked: first, Files: map[uint64]tree.FileSum{
			kept: {Name: kept, Size: 5, Time: built.Unix(), Sum: fmt.Sprintf("%x", sha256.Sum256(make([]byte, 5)))},
		}}))

		content, err := os.ReadFile(list)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(list, content[:len(content)-2], 0o600)).To(Succeed())
		Expect(store.FileList(ctx, resolved.Digest)).To(Equal(list))
		Expect(tree.ReadDownloaded(list)).To(Equal(listed), "one that is damaged is made again")

		Expect(os.RemoveAll(filepath.Join(directory, strings.TrimPrefix(resolved.Digest, "sha256:"), "blobs"))).To(Succeed())
		Expect(store.Unpacked(ctx, resolved.Digest)).To(Equal(first), "it is read once")
	})
})
