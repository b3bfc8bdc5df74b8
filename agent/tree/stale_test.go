// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/tree"
)

var _ = Describe("A former tree", func() {
	var root, former, outside string
	built := time.Unix(1_700_000_000, 0)

	file := func(path, content string, changed time.Time) {
		GinkgoHelper()
		Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		Expect(os.WriteFile(path, []byte(content), 0o644)).To(Succeed())
		Expect(os.Chtimes(path, changed, changed)).To(Succeed())
	}

	BeforeEach(func() {
		dir := GinkgoT().TempDir()
		root, former, outside = filepath.Join(dir, "new"), filepath.Join(dir, "former"), filepath.Join(dir, "outside")
		Expect(os.MkdirAll(former, 0o755)).To(Succeed())
		file(filepath.Join(root, "etc/os-release"), "v2", built)
	})

	DescribeTable("loses a file that would be taken for the new one, and no other",
		func(content string, changed time.Time, stays bool) {
			file(filepath.Join(former, "etc/os-release"), content, changed)
			Expect(tree.RemoveStale(root, former)).To(Succeed())
			if stays {
				Expect(filepath.Join(former, "etc/os-release")).To(BeAnExistingFile())
			} else {
				Expect(filepath.Join(former, "etc/os-release")).NotTo(BeAnExistingFile())
			}
		},
		Entry("of the same size and time, with other content", "v1", built, false),
		Entry("the same in all", "v2", built, true),
		Entry("of another size", "v1.0", built, true),
		Entry("of another time", "v1", built.Add(time.Hour), true),
	)

	It("loses nothing that a link of it leads to", func() {
		file(filepath.Join(outside, "os-release"), "v1", built)
		Expect(os.Symlink(outside, filepath.Join(former, "etc"))).To(Succeed())
		Expect(tree.RemoveStale(root, former)).To(Succeed())
		Expect(filepath.Join(outside, "os-release")).To(BeAnExistingFile())
	})

	It("has to be there", func() {
		Expect(tree.RemoveStale(root, filepath.Join(former, "none"))).To(MatchError(os.ErrNotExist))
	})
})
