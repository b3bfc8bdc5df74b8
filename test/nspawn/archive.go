// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nspawn

import (
	"compress/gzip"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
		packed[tagOf(tag)] = imageOf(layers[file], program)
	}
	Expect(tarball.MultiWriteToFile(archive, packed)).To(Succeed())
}

func (s *Setup) layerOfProgram(p Program) v1.Layer {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "image")
	makeDirs(filepath.Join(dir, filepath.Dir(p.As)))
	Run("cp", "--dereference", s.Built(p.From), filepath.Join(dir, p.As))
	// Programs with temporary files, and users other than root.
	makeDirs(filepath.Join(dir, "tmp"))
	Expect(os.Chmod(filepath.Join(dir, "tmp"), 0o777|os.ModeSticky)).To(Succeed())
	return layerOf(dir, tarball.WithCompressionLevel(gzip.NoCompression)) // for speed
}

func imageOf(layer v1.Layer, p Program) v1.Image {
	GinkgoHelper()
	made, err := mutate.AppendLayers(empty.Image, layer)
	Expect(err).NotTo(HaveOccurred())
	command := p.Command
	if len(command) == 0 {
		command = []string{p.As}
	}
	return configured(made, command...)
}

// configured makes an image one for this machine, with an entry point.
func configured(made v1.Image, command ...string) v1.Image {
	GinkgoHelper()
	config, err := made.ConfigFile()
	Expect(err).NotTo(HaveOccurred())
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config.Entrypoint = "linux", "amd64", command
	made, err = mutate.ConfigFile(made, config)
	Expect(err).NotTo(HaveOccurred())
	return made
}

func layerOf(dir string, options ...tarball.LayerOption) v1.Layer {
	GinkgoHelper()
	archive := dir + ".tar"
	Run("tar", "-C", dir, "--sort=name", "-cf", archive, ".")
	layer, err := tarball.LayerFromFile(archive, options...)
	Expect(err).NotTo(HaveOccurred())
	return layer
}

func tagOf(text string) name.Tag {
	GinkgoHelper()
	tag, err := name.NewTag(text)
	Expect(err).NotTo(HaveOccurred())
	return tag
}
