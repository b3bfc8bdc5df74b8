// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A package whose conditions are changed", func() {
	const (
		source = `package a

func small(n int, sure bool) bool {
	switch {
	case n > 3:
		return false
	case sure:
		return true
	}
	for i := 0; i < n; i++ {
		if n == 2 && !sure {
			return false
		}
	}
	return true
}
`
		test = `package a

import (
	"flag"
	"testing"
)

var _ = flag.Bool("ginkgo.fail-fast", false, "")

func TestSmall(t *testing.T) {
	if small(4, true) || !small(2, true) || !small(1, false) {
		t.Fail()
	}
}
`
		atThree = "a/a.go\tsmall\t>= instead of >\tcase n > 3:\tthree is not looked at\n"
		unasked = "a/a.go\tsmall\twithout the right side\tif n == 2 && !sure {\tnobody asks for it\n"
	)
	var root, out string

	write := func(name, content string) string {
		GinkgoHelper()
		path := filepath.Join(root, name)
		Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
		return path
	}
	try := func(ctx context.Context, explained string) error {
		GinkgoHelper()
		printed := &bytes.Buffer{}
		err := mutate(ctx, tester{root: root, timeout: 10 * time.Second, parallel: 2}, []string{"a"}, write("explained.txt", explained), printed)
		out = printed.String()
		return err
	}

	BeforeEach(func() {
		root = GinkgoT().TempDir()
		write("go.mod", "module example.com/a\n\ngo 1.26.0\n")
		write("a/a.go", source)
		write("a/a_test.go", test)
		write("a/a_plan9.go", "package a\n\nfunc never(n int) bool { return n == 1 }\n")
	})

	It("survives what its tests do not look at, and keeps its files", func(ctx SpecContext) {
		Expect(try(ctx, "")).To(MatchError(ContainSubstring("were noticed by no test")))
		Expect(out).To(ContainSubstring("a/a.go:5: >= instead of >: case n > 3:\n"), "three is not asked for")
		Expect(out).To(ContainSubstring("a/a.go:11: without the right side: if n == 2 && !sure {\n"), "two and sure is not asked for")
		Expect(out).NotTo(ContainSubstring("a/a.go:5: <= instead of >"), "four is")
		Expect(out).To(ContainSubstring("a/a.go:7: negated: case sure:\n"), "a case is a condition")
		Expect(out).NotTo(ContainSubstring("a_plan9.go"), "it is not compiled")
		Expect(os.ReadFile(filepath.Join(root, "a/a.go"))).To(BeEquivalentTo(source))
	})
	It("leaves out what is explained", func(ctx SpecContext) {
		Expect(try(ctx, "# why\n"+atThree+unasked)).NotTo(Succeed())
		Expect(out).NotTo(ContainSubstring("a.go:5"))
		Expect(out).NotTo(ContainSubstring("a.go:11"))
	})
	It("takes no explanation without a reason", func(ctx SpecContext) {
		Expect(try(ctx, "a/a.go\tsmall\t>= instead of >\tcase n > 3:\t")).To(MatchError(ContainSubstring("explained.txt:1: want file, function, kind, source line and reason")))
	})
	It("takes no explanation of what is no change", func(ctx SpecContext) {
		Expect(try(ctx, atThree+strings.ReplaceAll(unasked, "small", "large"))).To(MatchError("line 2 of what is explained is no change of a/a.go"))
		Expect(try(ctx, "b/b.go\tsmall\tnegated\tif a {\tof another folder\n")).To(MatchError(ContainSubstring("were noticed by no test")))
	})
	DescribeTable("is not looked at when its tests fail as it is", func(ctx SpecContext, imports string) {
		write("a/a_test.go", "package a\n\n"+imports+"func TestSmall(t *testing.T) { t.Fail() }\n")
		Expect(try(ctx, "")).To(MatchError(ContainSubstring("the tests of a fail without a change")))
	},
		Entry("which are compiled", "import (\n\t\"flag\"\n\t\"testing\"\n)\n\nvar _ = flag.Bool(\"ginkgo.fail-fast\", false, \"\")\n\n"),
		Entry("and cannot be compiled", ""),
	)
	It("leaves nothing of tests that take too long", func(ctx SpecContext) {
		id := filepath.Join(root, "id")
		write("a/a.go", "package a\n\nfunc small(n int, sure bool) bool { return n != 4 }\n")
		write("a/a_test.go", strings.Replace(strings.Replace(test, "\t\"testing\"", "\t\"os/exec\"\n\t\"testing\"", 1), "\t\tt.Fail()",
			"\t\tleft := exec.Command(\"sh\", \"-c\", \"echo $$ >"+id+"; exec sleep 600\")\n\t\t_ = left.Start()\n\t\t_ = left.Wait()", 1))
		Expect(mutate(ctx, tester{root: root, timeout: time.Second, parallel: 1}, []string{"a"}, write("explained.txt", ""), &bytes.Buffer{})).To(Succeed())
		content, err := os.ReadFile(id)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() error {
			_, err := os.Stat(filepath.Join("/proc", strings.TrimSpace(string(content)), "environ"))
			return err
		}).Should(MatchError(os.ErrNotExist))
	})
	It("passes when all is noticed", func(ctx SpecContext) {
		write("a/a.go", "package a\n\nfunc small(n int, sure bool) bool { return n != 4 }\n")
		Expect(try(ctx, "")).To(Succeed())
		Expect(out).To(ContainSubstring("==> a: 1 changes: 1 noticed, 0 not compiled, 0 explained, 0 SURVIVED\n"))
	})
})
