// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/tree"
)

var _ = Describe("What was downloaded", func() {
	var (
		root, list string
		built      = time.Unix(1_700_000_000, 0)
	)

	// downloaded lists a file of the image.
	downloaded := func(path, content string) tree.FileSum {
		return tree.FileSum{Name: tree.NameOf(path), Size: int64(len(content)), Time: built.Unix(), Sum: fmt.Sprintf("%x", sha256.Sum256([]byte(content)))}
	}
	store := func(files ...tree.FileSum) {
		GinkgoHelper()
		image := tree.Downloaded{Files: map[uint64]tree.FileSum{}, Unpacked: 4096}
		for _, each := range files {
			image.Files[each.Name] = each
		}
		written := &bytes.Buffer{}
		Expect(image.Write(written)).To(Succeed())
		Expect(os.WriteFile(list, written.Bytes(), 0o600)).To(Succeed())
	}
	// compared records the tree as it is, and compares it with what was downloaded.
	compared := func() error {
		GinkgoHelper()
		recorded := &bytes.Buffer{}
		Expect(tree.Record(root, recorded)).To(Succeed())
		files, err := tree.ReadDownloaded(list)
		Expect(err).NotTo(HaveOccurred())
		return tree.Comparison{Recorded: recorded, Downloaded: files}.With(root)
	}

	BeforeEach(func() {
		root, list = filepath.Join(GinkgoT().TempDir(), "tree"), filepath.Join(GinkgoT().TempDir(), "files.json")
		Expect(os.MkdirAll(filepath.Join(root, "usr/bin"), 0o755)).To(Succeed())
		path := filepath.Join(root, "usr/bin/tool")
		Expect(os.WriteFile(path, []byte("spoiled"), 0o755)).To(Succeed())
		Expect(os.Chtimes(path, built, built.Add(999*time.Millisecond))).To(Succeed())
	})

	It("is read as it was written", func() {
		store(downloaded("/usr/bin/tool", "spoiled"))
		files, err := tree.ReadDownloaded(list)
		Expect(err).NotTo(HaveOccurred())
		Expect(files.Unpacked).To(BeEquivalentTo(4096))
		Expect(files.Files).To(Equal(map[uint64]tree.FileSum{tree.NameOf("usr/bin/tool"): downloaded("usr/bin/tool", "spoiled")}))
	})

	It("was spoiled before it was recorded", func() {
		store(downloaded("/usr/bin/tool", "as sent"))
		Expect(compared()).To(MatchError("1 of 3 files differ from what was written, the first: /usr/bin/tool is not what was downloaded"))
	})

	DescribeTable("is not asked for in a file that", func(of func() tree.FileSum) {
		store(of())
		Expect(compared()).To(Succeed())
	},
		Entry("is what was downloaded", func() tree.FileSum { return downloaded("/usr/bin/tool", "spoiled") }),
		Entry("a hook has made longer", func() tree.FileSum { return downloaded("/usr/bin/tool", "as it was sent") }),
		Entry("a hook has changed since", func() tree.FileSum {
			sum := downloaded("/usr/bin/tool", "as sent")
			sum.Time--
			return sum
		}),
		Entry("a hook has removed", func() tree.FileSum { return downloaded("/usr/bin/toll", "as sent") }),
	)

	It("is not known without a list", func() {
		_, err := tree.ReadDownloaded(list)
		Expect(err).To(MatchError(os.ErrNotExist))
	})

	DescribeTable("is not known by a list", func(write func(), message string) {
		write()
		_, err := tree.ReadDownloaded(list)
		Expect(err).To(And(MatchError(ContainSubstring(message)), Not(BeAssignableToTypeOf(&tree.Difference{}))))
	},
		Entry("that is cut off", func() {
			store(downloaded("/usr/bin/tool", "x"))
			content, err := os.ReadFile(list)
			Expect(err).NotTo(HaveOccurred())
			Expect(os.WriteFile(list, content[:bytes.LastIndexByte(content[:len(content)-1], '\n')+1], 0o600)).To(Succeed())
		}, "is truncated"),
		Entry("that is another's", func() { Expect(os.WriteFile(list, []byte(`{"version":9}`), 0o600)).To(Succeed()) }, "not in the format of this agent"),
		Entry("that is none", func() { Expect(os.WriteFile(list, []byte(`{"version":1} <`), 0o600)).To(Succeed()) }, "reading the list"),
	)
})
