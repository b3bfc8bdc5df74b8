// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
)

// program is the only file of an image, and its entry point.
type program struct {
	// from is a path below bin, as is its name in the image, without a directory.
	from, as string
}

// images by their names: those of the manifests, and those of the suite.
var images = map[string]program{
	"localhost/pause:1":        {from: "lab/pod", as: "pod"},
	"localhost/clusterdns:1":   {from: "lab/clusterdns", as: "clusterdns"},
	"localhost/greeter:1":      {from: "lab/greeter", as: "greeter"},
	"localhost/cert-manager:1": {from: "tools/cert-manager", as: "cert-manager"},
	"registry.k8s.io/cluster-api/cluster-api-controller:" + capiworkaround.Verified:           {from: "tools/capi-core", as: "manager"},
	"registry.k8s.io/cluster-api/kubeadm-bootstrap-controller:" + capiworkaround.Verified:     {from: "tools/capi-cabpk", as: "manager"},
	"registry.k8s.io/cluster-api/kubeadm-control-plane-controller:" + capiworkaround.Verified: {from: "tools/capi-kcp", as: "manager"},
	"ghcr.io/rancher-sandbox/cluster-api-provider-elemental:" + tag:                           {from: "manager", as: "manager"},
}

// packImages writes all images into an archive.
func packImages(archive string) {
	GinkgoHelper()
	packed := map[name.Tag]v1.Image{}
	for tag, program := range images {
		parsed, err := name.NewTag(tag)
		Expect(err).NotTo(HaveOccurred())
		packed[parsed] = imageOf(program)
	}
	Expect(tarball.MultiWriteToFile(archive, packed)).To(Succeed())
}

func imageOf(p program) v1.Image {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	run("install", "-D", "-m", "755", built(p.from), filepath.Join(dir, "root", p.as))
	// Programs with temporary files, and users other than root.
	Expect(os.Mkdir(filepath.Join(dir, "root", "tmp"), 0o755)).To(Succeed())
	Expect(os.Chmod(filepath.Join(dir, "root", "tmp"), 0o777|os.ModeSticky)).To(Succeed())
	archive := filepath.Join(dir, "layer.tar")
	run("tar", "-C", filepath.Join(dir, "root"), "--sort=name", "-cf", archive, ".")
	layer, err := tarball.LayerFromFile(archive, tarball.WithCompressionLevel(gzip.NoCompression)) // for speed
	Expect(err).NotTo(HaveOccurred())
	built, err := mutate.AppendLayers(empty.Image, layer)
	Expect(err).NotTo(HaveOccurred())
	config, err := built.ConfigFile()
	Expect(err).NotTo(HaveOccurred())
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	config.Config.Entrypoint = []string{"/" + p.as}
	built, err = mutate.ConfigFile(built, config)
	Expect(err).NotTo(HaveOccurred())
	return built
}

// write writes a file, with mode 0755; a content that begins with "->" is the target of a link.
func write(path, content string) {
	GinkgoHelper()
	Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
	if target, isLink := strings.CutPrefix(content, "->"); isLink {
		Expect(os.Symlink(target, path)).To(Succeed())
		return
	}
	Expect(os.WriteFile(path, []byte(content), 0o755)).To(Succeed())
}
