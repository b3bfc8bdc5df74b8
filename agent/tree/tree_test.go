// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/tree"
)

func compare(recorded io.Reader, root string) error {
	return tree.Comparison{Recorded: recorded}.With(root)
}

var _ = Describe("A tree", func() {
	var root, copied string
	manifest := &bytes.Buffer{}

	at := func(path string) string { return filepath.Join(copied, path) }

	BeforeEach(func() {
		root, copied = filepath.Join(GinkgoT().TempDir(), "tree"), filepath.Join(GinkgoT().TempDir(), "copy")
		for path, content := range map[string]string{
			"etc/os-release": "v2", "etc/\xff\n": "name", "usr/bin/tool": "tool", "usr/lib/empty": "", "etc/resolv.conf": "x", "run/lock": "x", "tmp/x": "x", "end": "x",
		} {
			Expect(os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755)).To(Succeed())
			Expect(os.WriteFile(filepath.Join(root, path), []byte(content), 0o644)).To(Succeed())
		}
		Expect(os.Symlink("usr/bin", filepath.Join(root, "bin"))).To(Succeed())
		manifest.Reset()
		Expect(tree.Record(root, manifest)).To(Succeed())
		Expect(exec.Command("cp", "-a", root, copied).Run()).To(Succeed())
	})

	It("is as it was recorded, whatever is there besides", func() {
		Expect(os.WriteFile(at("etc/new"), nil, 0o644)).To(Succeed())
		Expect(os.RemoveAll(at("run/lock"))).To(Succeed())
		Expect(os.Chmod(at("tmp"), 0o1777)).To(Succeed())
		Expect(os.RemoveAll(at("etc/resolv.conf"))).To(Succeed())
		Expect(compare(manifest, copied)).To(Succeed())
	})

	DescribeTable("is not as it was recorded",
		func(change func() error, message string) {
			Expect(change()).To(Succeed())
			Expect(compare(manifest, copied)).To(MatchError(message))
		},
		Entry("other content", func() error { return os.WriteFile(at("usr/bin/tool"), []byte("toil"), 0o644) },
			"1 of 12 files differ from what was written, the first: /usr/bin/tool has other content"),
		Entry("cut off", func() error { return os.Truncate(at("usr/bin/tool"), 0) },
			"1 of 12 files differ from what was written, the first: /usr/bin/tool has other content"),
		Entry("missing", func() error { return os.RemoveAll(at("usr/lib")) },
			"2 of 12 files differ from what was written, the first: /usr/lib is missing"),
		Entry("another mode", func() error { return os.Chmod(at("usr/bin/tool"), 0o755) },
			"1 of 12 files differ from what was written, the first: /usr/bin/tool has mode -rwxr-xr-x in place of -rw-r--r--"),
		Entry("another link", func() error { return os.Rename(at("usr/bin/tool"), at("bin2")) },
			"1 of 12 files differ from what was written, the first: /usr/bin/tool is missing"),
	)

	DescribeTable("belongs to whom it belonged, and is the device that it was", func(of, message string) {
		// To give a file away takes root, to change the list does not.
		path := fmt.Sprintf("%q", strconv.Quote("usr/bin/tool"))
		lines := strings.Split(manifest.String(), "\n")
		at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, path) })
		recorded := map[string]any{}
		Expect(json.Unmarshal([]byte(lines[at]), &recorded)).To(Succeed())
		recorded[of] = 12345
		changed, err := json.Marshal(recorded)
		Expect(err).NotTo(HaveOccurred())
		lines[at] = string(changed)
		Expect(compare(strings.NewReader(strings.Join(lines, "\n")), copied)).To(MatchError(MatchRegexp(message)))
	},
		Entry("user", "uid", `/usr/bin/tool belongs to \d+:\d+ in place of 12345:\d+`),
		Entry("group", "gid", `/usr/bin/tool belongs to \d+:\d+ in place of \d+:12345`),
		Entry("device", "device", "/usr/bin/tool has other content"),
	)

	It("has the extended attributes that it had", func() {
		changed := strings.Replace(manifest.String(), `,"size":4,`, `,"size":4,"attributes":"those of a capability",`, 1)
		Expect(compare(strings.NewReader(changed), copied)).To(MatchError(ContainSubstring("has other extended attributes")))
	})

	DescribeTable("cannot be compared with the list of an agent that lists other things", func(begin string) {
		_, files, _ := strings.Cut(manifest.String(), "\n")
		Expect(compare(strings.NewReader(begin+files), copied)).To(And(
			MatchError(ContainSubstring("not in the format of this agent")), BeAssignableToTypeOf(&tree.Difference{})))
	},
		Entry("before there were versions", ""),
		Entry("of a version that comes", `{"version":2}`+"\n"),
		Entry("that is nothing of the kind", "<"),
	)

	It("cannot be compared with a list that is cut off", func() {
		manifest.Truncate(bytes.LastIndexByte(manifest.Bytes()[:manifest.Len()-1], '\n') + 1)
		Expect(compare(manifest, copied)).To(And(MatchError(ContainSubstring("truncated")), BeAssignableToTypeOf(&tree.Difference{})))
	})
})
