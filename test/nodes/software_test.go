// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// Images of Pods.
const (
	pauseImage = "localhost/pause:1"
	webImage   = "registry.example.com/web:1"
	// stubbornImage ignores SIGTERM.
	stubbornImage = "localhost/stubborn:1"
	// recorderImage notes its starts and ends in /record.
	recorderImage = "localhost/recorder:1"
)

// components are the static Pods of a control plane.
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// software is the directory with the programs and units that all hosts have in /usr, below the files of their images.
var software string

func prepareSoftware() {
	GinkgoHelper()
	software = filepath.Join(GinkgoT().TempDir(), "usr")
	for to, from := range map[string]string{
		"bin/elemental": os.Getenv(binEnv), "bin/kubelet": built("tools/kubelet"), "bin/kubeadm": built("tools/kubeadm"), "sbin/elemental-agent": built("elemental-agent"),
	} {
		makeDirs(filepath.Join(software, filepath.Dir(to)))
		run("cp", "--dereference", from, filepath.Join(software, to))
	}
	Expect(os.Symlink("grub-editenv", filepath.Join(software, "bin/grub2-editenv"))).To(Succeed())
	units := filepath.Join(software, "lib/systemd/system")
	makeDirs(units, filepath.Join(software, "lib/lab"))
	copyTo(units, filepath.Join(root, "hack/os/files/kubeadm/usr/lib/systemd/system/*"))
	copyTo(units, filepath.Join(root, "agent/units/*.service"))
	copyTo(units, "testdata/units/*")
	copyTo(filepath.Join(software, "lib/lab"), "testdata/scripts/*")
	makeDirs(filepath.Join(software, "libexec/kubernetes/kubelet-plugins/volume/exec")) // kubeadm's control plane mounts it, and /usr is read-only
	packPods(filepath.Join(software, "lib/lab/pods.tar"))
	packControlPlane(filepath.Join(software, "lib/lab/control-plane.tar"))
}

// copyTo copies the files that match a pattern into a directory.
func copyTo(dir, pattern string) {
	GinkgoHelper()
	found, err := filepath.Glob(pattern)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).NotTo(BeEmpty(), pattern)
	run("cp", append(append([]string{"-r"}, found...), dir)...)
}

// packPods writes an archive with the images of Pods, each with the program pod alone.
func packPods(archive string) {
	GinkgoHelper()
	layer := layerOfProgram("lab/pod", "/")
	images := map[name.Tag]v1.Image{}
	for tag, command := range map[string]string{
		pauseImage: "/pod", webImage: "/pod", stubbornImage: "/pod stubborn", recorderImage: "/pod record /record/file",
	} {
		images[tagOf(tag)] = podImage(layer, command)
	}
	Expect(tarball.MultiWriteToFile(archive, images)).To(Succeed())
}

// packControlPlane writes an archive with the images of kubeadm's static Pods.
func packControlPlane(archive string) {
	GinkgoHelper()
	images := map[name.Tag]v1.Image{}
	for image := range strings.FieldsSeq(run(built("tools/kubeadm"), "config", "images", "list", "--kubernetes-version="+scenario.KubernetesVersion)) {
		tag := tagOf(image)
		if program := path.Base(tag.RepositoryStr()); slices.Contains(components, program) {
			images[tag] = podImage(layerOfProgram("tools/"+program, "usr/local/bin"), program) // kubeadm's commands are names
		}
	}
	Expect(images).To(HaveLen(len(components)))
	Expect(tarball.MultiWriteToFile(archive, images)).To(Succeed())
}

// layerOfProgram has one program, in this directory.
func layerOfProgram(path, in string) v1.Layer {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), filepath.Base(path))
	makeDirs(filepath.Join(dir, in))
	run("cp", "--dereference", built(path), filepath.Join(dir, in))
	return layerOf(dir)
}

func tagOf(text string) name.Tag {
	GinkgoHelper()
	tag, err := name.NewTag(text)
	Expect(err).NotTo(HaveOccurred())
	return tag
}

func podImage(layer v1.Layer, command string) v1.Image {
	GinkgoHelper()
	made, err := mutate.AppendLayers(empty.Image, layer)
	Expect(err).NotTo(HaveOccurred())
	config, err := forThisMachine(made).ConfigFile()
	Expect(err).NotTo(HaveOccurred())
	config = config.DeepCopy()
	config.Config.Entrypoint = strings.Fields(command)
	made, err = mutate.ConfigFile(made, config)
	Expect(err).NotTo(HaveOccurred())
	return made
}
