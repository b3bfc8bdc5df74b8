// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// basePrograms are the programs of an OS that a build runs.
var basePrograms = []string{
	"awk", "bash", "cat", "chmod", "curl", "env", "find", "grep", "gzip", "install", "ln", "mcopy", "mkdir", "mkfs.vfat", "mksquashfs", "mktemp", "mount", "rm",
	"rsync", "sed", "sh", "sha256sum", "sync", "systemctl", "tar", "umount", "uname", "xorriso",
}

// loaded are libraries and data that programs load at run time, without being linked to them: the one for
// thread cancellation, and the FAT code page.
var loaded = []string{
	"/usr/lib/x86_64-linux-gnu/libgcc_s.so.1", "/usr/lib/x86_64-linux-gnu/gconv/IBM850.so", "/usr/lib/x86_64-linux-gnu/gconv/gconv-modules",
	"/usr/lib/x86_64-linux-gnu/gconv/gconv-modules.d/gconv-modules-extra.conf",
}

// bootLoader maps Debian's boot loader files to the paths where the toolkit expects them.
var bootLoader = []struct{ from, to string }{
	{"/usr/lib/grub/x86_64-efi/monolithic/grubx64.efi", "usr/share/grub2/x86_64-efi/grub.efi"},
	{"/usr/lib/grub/x86_64-efi/loopback.mod", "usr/share/grub2/x86_64-efi/loopback.mod"},
	{"/usr/lib/grub/x86_64-efi/squash4.mod", "usr/share/grub2/x86_64-efi/squash4.mod"},
	{"/usr/lib/grub/x86_64-efi/xzio.mod", "usr/share/grub2/x86_64-efi/xzio.mod"},
	{"/usr/lib/shim/shimx64.efi", "usr/share/efi/x86_64/shim.efi"},
	{"/usr/lib/shim/mmx64.efi", "usr/share/efi/x86_64/MokManager.efi"},
}

// operatorFiles are files in SUSE's base images for the elemental operator.
var operatorFiles = []string{
	"system/oem/99_elemental-register-install.yaml", "system/oem/99_elemental_system_agent.yaml", "usr/libexec/elemental-checker/elemental-register.sh",
}

// leftovers are files of a base image that hosts must not share.
var leftovers = []string{"etc/ssh/ssh_host_ed25519_key", "var/lib/systemd/random-seed", "etc/elemental/agent/config.yaml", "oem/90_custom.yaml"}

// dracut writes an initrd to the path that the CLI passes.
const dracut = "#!/bin/bash\necho 'an initrd' >\"$2\"\n"

// buildBase builds the image that is used as BASE.
func buildBase(ctx context.Context) {
	GinkgoHelper()
	root := filepath.Join(site.folder, "base")
	for _, folder := range []string{"usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc", "boot", "var/tmp", "tmp", "root", "lib/modules/6.4.0-test"} {
		if target, isLib := strings.CutPrefix(folder, "lib/"); isLib {
			folder = filepath.Join("usr/lib", target)
		}
		Expect(os.MkdirAll(filepath.Join(root, folder), 0o755)).To(Succeed())
	}
	for _, link := range []string{"bin", "sbin", "lib", "lib64"} {
		Expect(os.Symlink("usr/"+link, filepath.Join(root, link))).To(Succeed())
	}
	for _, program := range basePrograms {
		path, err := exec.LookPath(program)
		Expect(err).NotTo(HaveOccurred())
		copyProgram(ctx, root, path, "usr/bin/"+program)
	}
	for _, file := range loaded {
		put(root, file, readFile(file), 0o644)
	}
	put(root, "usr/bin/elemental", readFile(os.Getenv(binEnv)), 0o755)
	for _, file := range bootLoader {
		put(root, file.to, readFile(file.from), 0o644)
	}
	put(root, "usr/bin/dracut", dracut, 0o755)
	put(root, "boot/vmlinuz-6.4.0-test", "a kernel", 0o644)
	put(root, "usr/lib/os-release", "NAME=test\nIMAGE_TAG=\"of the base\"\n", 0o644)
	Expect(os.Symlink("../usr/lib/os-release", filepath.Join(root, "etc/os-release"))).To(Succeed())
	put(root, "etc/passwd", "root:x:0:0:root:/root:/bin/bash\n", 0o644)
	put(root, "etc/machine-id", "0123456789abcdef0123456789abcdef\n", 0o444)
	for _, file := range append(operatorFiles, leftovers...) {
		put(root, file, secretWord, 0o755)
	}
	image(ctx, root, baseImage, "FROM scratch\nCOPY . /\n")
}

// buildGo builds the builder's image: its Go returns an agent that is already built, and fails for anything
// else.
func buildGo(ctx context.Context) {
	GinkgoHelper()
	const module = "github.com/rancher-sandbox/cluster-api-provider-elemental/internal/version"
	flags := "-s -w -X " + module + ".Version=" + osVersion + " -X " + module + ".Commit=" + commit
	folder := filepath.Join(site.folder, "go")
	run(ctx, "go", "build", "-ldflags", flags, "-o", filepath.Join(folder, "elemental-agent"), "./cmd/elemental-agent")
	put(folder, "go", "#!/bin/bash\ncase \"$1 $3\" in\n'mod '*) ;;\n'build "+flags+"') mkdir -p /out; cp /built/elemental-agent /out/;;\n"+
		"*) echo \"unexpected: go $*\" >&2; exit 1;;\nesac\n", 0o755)
	copyProgram(ctx, folder, "/usr/bin/cp", "cp")
	image(ctx, folder, goImage, "FROM "+baseImage+"\nCOPY go cp /usr/bin/\nCOPY usr/ /usr/\nCOPY elemental-agent /built/\n")
}

func image(ctx context.Context, folder, name, dockerfile string) {
	GinkgoHelper()
	file := filepath.Join(site.folder, filepath.Base(folder)+".Dockerfile")
	Expect(os.WriteFile(file, []byte(dockerfile), 0o600)).To(Succeed())
	run(ctx, "buildah", "build", "--quiet", "--file", file, "--tag", name, folder)
}

var library = regexp.MustCompile(`(/\S+) \(0x`)

// copyProgram copies a program of this machine, and its shared libraries.
func copyProgram(ctx context.Context, root, path, to string) {
	GinkgoHelper()
	put(root, to, readFile(path), 0o755)
	// ldd fails for statically linked programs.
	linked, _ := exec.CommandContext(ctx, "ldd", path).Output()
	for _, match := range library.FindAllStringSubmatch(string(linked), -1) {
		target := match[1]
		if !strings.HasPrefix(target, "/usr/") {
			target = "/usr" + target
		}
		put(root, target, readFile(match[1]), 0o755)
	}
}

func put(root, path, content string, mode os.FileMode) {
	GinkgoHelper()
	path = filepath.Join(root, path)
	Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
	Expect(os.WriteFile(path, []byte(content), mode)).To(Succeed())
}

func readFile(path string) string {
	GinkgoHelper()
	file, err := os.Open(path)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(file)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}
