// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A switch", func() {
	const (
		source = `package a

type sure bool

const wide = 64 > 32

var asked int

func ask(yes bool) bool { asked++; return yes }

func least[T int | float64](a, b T) sure {
	var is sure = a < b && wide
	return is
}

func all(p *struct{ n int }, counts map[string]int) bool {
	counts["all"]++
	if unused := counts["all"]; unused == 1 && wide {
		return p == nil || p.n > 0 && ask(p.n < 3) && !ask(false)
	}
	return func() bool { return ask(true) == (p != nil) }()
}

func count() (n uint8) {
	for i := 5; i > 3; i-- {
		n++
	}
	*&n++
	(*pointer(&n))++
	return n
}

func pointer(n *uint8) *uint8 { return n }
`
		test = `package a

import (
	"flag"
	"testing"
)

var _ = flag.Bool("ginkgo.fail-fast", false, "")

func TestAll(t *testing.T) {
	counts := map[string]int{}
	if all(nil, counts); asked != 0 || counts["all"] != 1 || !least(1, 2) || count() != 4 {
		t.Fail()
	}
}
`
	)

	It("is there for each change but of a constant or what a call finds, and changes what compiling the change does", func(ctx SpecContext) {
		root := GinkgoT().TempDir()
		Expect(os.Mkdir(filepath.Join(root, "a"), 0o755)).To(Succeed())
		for name, content := range map[string]string{"go.mod": "module example.com/a\n\ngo 1.26.0\n", "a/a.go": source, "a/a_test.go": test} {
			Expect(os.WriteFile(filepath.Join(root, name), []byte(content), 0o600)).To(Succeed())
		}
		read, err := readPackage(ctx, root, "a")
		Expect(err).NotTo(HaveOccurred())
		tests := tester{root: root, timeout: 5 * time.Second, parallel: 2}
		printed := &bytes.Buffer{}
		try, err := tests.prepare(ctx, read, GinkgoT().TempDir(), printed)
		Expect(err).NotTo(HaveOccurred())
		Expect(printed.String()).To(BeEmpty())

		without := []string{}
		for _, m := range read.mutants {
			if !m.switched {
				without = append(without, m.source)
			}
			byItself, err := tests.try(ctx, read, m)
			Expect(err).NotTo(HaveOccurred())
			Expect(try(ctx, m)).To(Equal(byItself), m.String())
		}
		Expect(without).To(HaveExactElements("const wide = 64 > 32", "const wide = 64 > 32", "(*pointer(&n))++"))
	})
})
