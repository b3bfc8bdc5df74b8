// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// opened is an image that is mounted for inspection.
type opened struct{ container, root string }

// open mounts an image until the specs of the container are done.
func open(ctx context.Context, name string) opened {
	GinkgoHelper()
	container := run(ctx, "buildah", "from", "--pull-never", name)
	DeferCleanup(func(ctx SpecContext) { run(ctx, "buildah", "rm", container) })
	return opened{container: container, root: run(ctx, "buildah", "mount", container)}
}

func (o opened) path(path string) string { return filepath.Join(o.root, path) }

// runs a program of the image in the image.
func (o opened) runs(ctx context.Context, command ...string) string {
	GinkgoHelper()
	return run(ctx, "buildah", append([]string{"run", o.container, "--"}, command...)...)
}

// config of an image, as in a registry.
func config(ctx context.Context, name string) (labels map[string]string, everything string) {
	GinkgoHelper()
	everything = run(ctx, "buildah", "inspect", "--type", "image", name)
	inspected := struct {
		OCIv1 struct {
			Config struct{ Labels map[string]string }
		}
	}{}
	Expect(json.Unmarshal([]byte(everything), &inspected)).To(Succeed())
	return inspected.OCIv1.Config.Labels, everything
}

func expectMode(path string, mode os.FileMode) {
	GinkgoHelper()
	found, err := os.Lstat(path)
	Expect(err).NotTo(HaveOccurred())
	Expect(found.Mode().Perm()).To(Equal(mode), path)
	owner := found.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // This is Linux.
	Expect([]uint32{owner.Uid, owner.Gid}).To(Equal([]uint32{0, 0}), path)
}

// enabled are the units that are started at boot.
func (o opened) enabled() []string {
	GinkgoHelper()
	entries, err := os.ReadDir(o.path("etc/systemd/system/multi-user.target.wants"))
	Expect(err).NotTo(HaveOccurred())
	names := []string{}
	for _, entry := range entries {
		target, err := os.Readlink(o.path("etc/systemd/system/multi-user.target.wants/" + entry.Name()))
		Expect(err).NotTo(HaveOccurred())
		Expect(o.path(target)).To(BeARegularFile(), entry.Name())
		names = append(names, entry.Name())
	}
	return names
}

var _ = Describe("The OS image of kubeadm", Ordered, func() {
	const name = osImage + ":dev-kubeadm"
	var image opened

	BeforeAll(func(ctx SpecContext) {
		said, err := build(ctx, "build-os-kubeadm")
		Expect(err).NotTo(HaveOccurred(), said)
		image = open(ctx, name)
	})

	It("has an agent that runs, of the commit", func(ctx SpecContext) {
		expectMode(image.path("usr/sbin/elemental-agent"), 0o755)
		Expect(image.runs(ctx, "/usr/sbin/elemental-agent", "--version")).To(Equal("Agent version " + osVersion + ", commit " + commit))
	})

	It("has the agent's units, unmodified and enabled", func() {
		shipped, err := filepath.Glob(filepath.Join(site.root, "agent/units/*.service"))
		Expect(err).NotTo(HaveOccurred())
		Expect(shipped).To(HaveLen(3))
		for _, unit := range shipped {
			path := image.path("usr/lib/systemd/system/" + filepath.Base(unit))
			expectMode(path, 0o644)
			Expect(readFile(path)).To(Equal(readFile(unit)))
			Expect(image.enabled()).To(ContainElement(filepath.Base(unit)))
		}
	})

	It("has the units of the elemental CLI that the agent's units are ordered after, and is bootable", func() {
		Expect(image.enabled()).To(ContainElements("elemental-setup-boot.service", "elemental-setup-network.service"))
		Expect(readFile(image.path("boot/vmlinuz"))).To(Equal("a kernel"))
		Expect(readFile(image.path("boot/initrd"))).To(Equal("an initrd\n"))
		Expect(image.path("etc/elemental/bootargs.cfg")).To(BeARegularFile())
	})

	It("has Kubernetes, with a kubelet and a containerd that live media and recovery do not start", func(ctx SpecContext) {
		for _, program := range []string{"kubeadm", "kubelet", "kubectl", "containerd", "crictl"} {
			expectMode(image.path("usr/bin/"+program), 0o755)
		}
		expectMode(image.path("opt/cni/bin/loopback"), 0o755)
		Expect(image.runs(ctx, "/usr/bin/kubelet")).To(HaveSuffix("/release/v1.36.3/bin/linux/amd64/kubelet"))
		Expect(image.enabled()).To(ContainElements("kubelet.service", "containerd.service"))
		for _, unit := range []string{"kubelet.service", "containerd.service"} {
			Expect(readFile(image.path("usr/lib/systemd/system/" + unit))).To(And(
				ContainSubstring("ConditionPathExists=!/run/elemental/live_mode"), ContainSubstring("ConditionPathExists=!/run/elemental/recovery_mode")))
		}
		expectMode(image.path("usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"), 0o644)
		expectMode(image.path("etc/sysctl.d/99-kubernetes.conf"), 0o644)
	})

	It("keeps the agent's work directory and what kubeadm writes", func() {
		path := image.path("system/oem/01_elemental-rootfs.yaml")
		expectMode(path, 0o644)
		for _, kept := range []string{"/var/lib", "/etc/kubernetes", "/etc/systemd"} {
			Expect(readFile(path)).To(ContainSubstring("- " + kept + "\n"))
		}
	})

	It("has no services of the elemental operator", func() {
		for _, file := range operatorFiles {
			Expect(image.path(file)).NotTo(BeAnExistingFile())
		}
		for _, unit := range []string{"elemental-register.timer", "elemental-register-install.service", "elemental-system-agent.service"} {
			Expect(os.Readlink(image.path("etc/systemd/system/" + unit))).To(Equal("/dev/null"))
		}
	})

	It("has no secret and no identity, nor has its history", func(ctx SpecContext) {
		for _, file := range leftovers {
			Expect(image.path(file)).NotTo(BeAnExistingFile())
		}
		Expect(readFile(image.path("etc/machine-id"))).To(BeEmpty())
		Expect(filepath.WalkDir(image.root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				Expect(strings.Contains(readFile(path), secretWord)).To(BeFalse(), path)
			}
			return err
		})).To(Succeed())
		_, everything := config(ctx, name)
		Expect(everything).NotTo(ContainSubstring(secretWord))
	})

	It("identifies itself in its labels and os-release", func(ctx SpecContext) {
		labels, _ := config(ctx, name)
		Expect(labels).To(And(
			HaveKeyWithValue("org.opencontainers.image.version", osVersion), HaveKeyWithValue("org.opencontainers.image.revision", commit),
			HaveKeyWithValue("org.opencontainers.image.base.name", baseImage), HaveKeyWithValue("org.opencontainers.image.title", "Elemental OS with kubeadm")))
		Expect(readFile(image.path("usr/lib/os-release"))).To(And(ContainSubstring("IMAGE_TAG=\"dev-kubeadm\"\n"), Not(ContainSubstring("of the base"))))
	})

	It("contains no leftovers of its build", func() {
		for _, folder := range []string{"tmp", "mnt"} {
			entries, err := os.ReadDir(image.path(folder))
			Expect(err).To(Or(Not(HaveOccurred()), MatchError(os.ErrNotExist)))
			Expect(entries).To(BeEmpty(), folder)
		}
	})
})

var _ = DescribeTable("An OS image that brings", func(ctx SpecContext, flavor, version, program, unit string, started string) {
	said, err := build(ctx, "build-os-"+flavor, "KUBERNETES_VERSION="+version)
	Expect(err).NotTo(HaveOccurred(), said)
	image := open(ctx, osImage+":dev-"+flavor)
	expectMode(image.path("usr/bin/"+program), 0o755)
	Expect(image.runs(ctx, "/usr/bin/"+program)).To(ContainSubstring("/" + version + "/"))
	Expect(readFile(image.path("usr/lib/systemd/system/" + unit))).To(And(ContainSubstring(started), Not(ContainSubstring("/usr/local/"))))
	Expect(image.enabled()).To(And(ContainElement("elemental-agent.service"), Not(ContainElement(unit))), "the bootstrap data do")

	By("matching what the bootstrap provider installs")
	Expect(image.runs(ctx, "env", "SYSTEMD_OFFLINE=1", "INSTALL_K3S_EXEC=agent", "sh", "/opt/install.sh")).To(ContainSubstring(version + " is part of the OS image"))
	Expect(slices.Contains(image.enabled(), "k3s-agent.service")).To(Equal(flavor == "k3s"), "CAPRKE2 enables a unit itself")
},
	Entry("RKE2", "rke2", "v1.35.2+rke2r1", "rke2", "rke2-server.service", "ExecStart=/usr/bin/rke2 server"),
	Entry("K3s", "k3s", "v1.35.2+k3s1", "k3s", "k3s-agent.service", "ExecStart=/usr/bin/k3s agent"),
)

var _ = DescribeTable("No image is built", func(ctx SpecContext, target, says string, variables ...string) {
	said, err := build(ctx, target, append(variables, "OS_TAG=refused")...)
	Expect(err).To(HaveOccurred())
	Expect(said).To(ContainSubstring(says))
},
	Entry("of a program that does not match its checksum", "build-os-kubeadm", "/kubeadm is not what ", "KUBERNETES_VERSION="+forged),
	Entry("of an archive that does not match its checksum", "build-os-rke2", "/rke2.linux-amd64.tar.gz is not what ", "KUBERNETES_VERSION="+forged),
	Entry("of an unknown flavor", "build-os-talos", "there is no flavor talos: use one of kubeadm rke2 k3s"),
	Entry("for hosts that could not register", "build-iso-kubeadm", "hack/print-agent-config.sh writes one", "AGENT_CONFIG_FILE=no-such-file"),
)
