// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Files by path; a content that begins with "->" is the target of a link.
type Files map[string]string

// WriteTo writes the files into a directory, with mode 0755.
func (f Files) WriteTo(dir string) {
	GinkgoHelper()
	for path, content := range f {
		full := filepath.Join(dir, path)
		if target, isLink := strings.CutPrefix(content, "->"); isLink {
			MakeDirs(filepath.Dir(full))
			Expect(os.Symlink(target, full)).To(Succeed())
			continue
		}
		Write(full, content)
	}
}

// Run runs a command that must succeed and returns its output.
func Run(command string, args ...string) string {
	GinkgoHelper()
	output, err := exec.Command(command, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s %s: %s", command, strings.Join(args, " "), output)
	return strings.TrimSpace(string(output))
}

// Read returns the content of a file.
func Read(path string) string {
	GinkgoHelper()
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// Write writes a file, with mode 0755, and its directory.
func Write(path, content string) {
	GinkgoHelper()
	MakeDirs(filepath.Dir(path))
	Expect(os.WriteFile(path, []byte(content), 0o755)).To(Succeed())
}

// MakeDirs makes directories, with those above them.
func MakeDirs(paths ...string) {
	GinkgoHelper()
	for _, path := range paths {
		Expect(os.MkdirAll(path, 0o755)).To(Succeed())
	}
}

// CopyTo copies the files that match a pattern into a directory.
func CopyTo(dir, pattern string) {
	GinkgoHelper()
	found, err := filepath.Glob(pattern)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).NotTo(BeEmpty(), pattern)
	MakeDirs(dir)
	Run("cp", append(append([]string{"-r"}, found...), dir)...)
}
