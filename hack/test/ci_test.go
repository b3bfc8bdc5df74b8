// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// targets stands for make: one target hangs, in a process of its own, and one fails.
const targets = `#!/bin/sh
case $2 in
verify) sleep 120 ;;
test) exit 2 ;;
esac
`

var _ = Describe("What CI runs", func() {
	// ci runs .ci/run beside what it calls, in a folder of its own.
	ci := func(ctx context.Context, environment ...string) (said []string, err error) {
		GinkgoHelper()
		folder := GinkgoT().TempDir()
		for _, name := range []string{".ci/run", "hack/test/deadline.sh", "hack/test/summarize.sh"} {
			content, err := os.ReadFile(filepath.Join("../..", name))
			Expect(err).NotTo(HaveOccurred())
			Expect(os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o755)).To(Succeed())
			Expect(os.WriteFile(filepath.Join(folder, name), content, 0o755)).To(Succeed())
		}
		Expect(os.MkdirAll(filepath.Join(folder, "bin/logs"), 0o755)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(folder, "make"), []byte(targets), 0o755)).To(Succeed())
		cmd := exec.CommandContext(ctx, filepath.Join(folder, ".ci/run"))
		cmd.WaitDelay = time.Second // for what a target leaves behind
		cmd.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
		cmd.Env = append(cmd.Env, environment...)
		output, err := cmd.CombinedOutput()
		GinkgoWriter.Printf("%s", output)
		for line := range strings.Lines(string(output)) {
			said = append(said, strings.TrimSpace(line))
		}
		return said, err
	}

	It("ends when no time is left, whatever hangs, says what that was, and runs the rest", func(ctx SpecContext) {
		said, err := ci(ctx, "CI_BUDGET=0", "CI_GRACE=1")
		Expect(err).To(HaveOccurred())
		Expect(len(said)).To(BeNumerically(">", 6))
		Expect(said[len(said)-6:]).To(HaveExactElements(
			MatchRegexp(`^==> make verify FAILED: it was ended after \d+s, when no time was left$`),
			MatchRegexp(`^==> make test FAILED after \d+s$`),
			MatchRegexp(`^==> make test-e2e passed in \d+s$`),
			MatchRegexp(`^==> make test-native did not run: it can take \d+s, and -\d+s are left$`),
			MatchRegexp(`^==> make test-nodes-short passed in \d+s$`),
			MatchRegexp(`^==> make test-long passed in \d+s$`),
		))
	}, SpecTimeout(specs.Patience))
})
