// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nspawn

import (
	"compress/gzip"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// PauseImage is what each Pod's sandbox runs, by containerd's configuration.
const PauseImage = "localhost/pause:1"

// Program is the only file of a container image.
type Program struct {
	// From is its path below bin, and As its path in the image.
	From, As string
	// Command is the image's entry point (default: As).
	Command []string
}

func (p Program) command() []string {
	if len(p.Command) == 0 {
		return []string{p.As}
	}
	return p.Command
}

// pack writes images into an archive. Programs that many have are in it once.
func (s *Setup) pack(archive string, images map[string]Program) {
	GinkgoHelper()
	layers := map[string]v1.Layer{}
	packed := map[name.Tag]v1.Image{}
	for tag, program := range images {
		file := program.From + ":" + program.As
		if layers[file] == nil {
			layers[file] = s.layerOfProgram(program)
		}
		packed[tagOf(tag)] = osimage.Of([]v1.Layer{layers[file]}, program.command()...)
	}
	Expect(tarball.MultiWriteToFile(archive, packed)).To(Succeed())
}

func (s *Setup) layerOfProgram(p Program) v1.Layer {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "image")
	osimage.MakeDirs(filepath.Join(dir, filepath.Dir(p.As)))
	osimage.Run("cp", "--dereference", s.Built(p.From), filepath.Join(dir, p.As))
	// Programs with temporary files, and users other than root.
	osimage.MakeDirs(filepath.Join(dir, "tmp"))
	Expect(os.Chmod(filepath.Join(dir, "tmp"), 0o777|os.ModeSticky)).To(Succeed())
	return osimage.LayerOf(dir, tarball.WithCompressionLevel(gzip.NoCompression)) // for speed
}

func tagOf(text string) name.Tag {
	GinkgoHelper()
	tag, err := name.NewTag(text)
	Expect(err).NotTo(HaveOccurred())
	return tag
}
