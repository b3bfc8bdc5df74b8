// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Live media", func() {
	It("boots the OS image, with the agent's configuration for root alone", func(ctx SpecContext) {
		given := filepath.Join(site.folder, "agent-config.yaml")
		configuration := "registration:\n  uri: https://elemental.example.com\n  token: " + secretWord + "\n"
		Expect(os.WriteFile(given, []byte(configuration), 0o644)).To(Succeed())
		target := filepath.Join(site.folder, "iso")
		said, err := build(ctx, "build-iso-kubeadm", "AGENT_CONFIG_FILE="+given, "ISO_DIR="+target, "OS_TAG=media")
		Expect(err).NotTo(HaveOccurred(), said)

		By("writing a file with its checksum, and nothing else")
		media := filepath.Join(target, "elemental-kubeadm.iso")
		Expect(filepath.Glob(filepath.Join(target, "*"))).To(ConsistOf(media, media+".sha256"))
		Expect(readFile(media + ".sha256")).To(HavePrefix(fmt.Sprintf("%x ", sha256.Sum256([]byte(readFile(media))))))

		By("containing what firmware, GRUB and the initrd look for")
		content := filepath.Join(site.folder, "media")
		run(ctx, "xorriso", "-osirrox", "on", "-indev", media, "-extract", "/", content)
		Expect(readFile(filepath.Join(content, "EFI/BOOT/grub.cfg"))).To(ContainSubstring("root=live:CDLABEL="))
		for _, file := range []string{"EFI/BOOT/bootx64.efi", "EFI/BOOT/grub.efi"} {
			Expect(filepath.Join(content, file)).To(BeARegularFile())
		}
		loader := filepath.Join(content, "boot/x86_64/loader")
		Expect(readFile(filepath.Join(loader, "linux"))).To(Equal("a kernel"))
		Expect(readFile(filepath.Join(loader, "initrd"))).To(Equal("an initrd\n"))
		Expect(run(ctx, "xorriso", "-indev", media, "-report_el_torito", "plain")).To(ContainSubstring("UEFI"))

		By("containing the OS")
		root := filepath.Join(site.folder, "live")
		run(ctx, "unsquashfs", "-no-progress", "-dest", root, filepath.Join(loader, "rootfs.squashfs"))
		expectMode(filepath.Join(root, "etc/elemental/agent/config.yaml"), 0o600)
		Expect(readFile(filepath.Join(root, "etc/elemental/agent/config.yaml"))).To(Equal(configuration))
		expectMode(filepath.Join(root, "usr/sbin/elemental-agent"), 0o755)
		Expect(filepath.Join(root, "etc/systemd/system/multi-user.target.wants/elemental-agent-install.service")).To(Satisfy(isLink))

		By("keeping the token out of the OS image")
		image := open(ctx, osImage+":media-kubeadm")
		Expect(image.path("etc/elemental/agent")).NotTo(BeAnExistingFile())
	})
})

func isLink(path string) bool {
	found, err := os.Lstat(path)
	return err == nil && found.Mode()&os.ModeSymlink != 0
}
