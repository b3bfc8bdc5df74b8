// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("The short form of real nodes", func() {
	// short runs nodes-short.sh beside what it calls, in a folder of its own.
	short := func(ctx context.Context, packages, made string, environment ...string) (string, error) {
		GinkgoHelper()
		folder := GinkgoT().TempDir()
		scripts := map[string]string{"hack/test/nodes-packages.sh": "#!/bin/sh\n" + packages, "make": "#!/bin/sh\necho make \"$@\"\n" + made}
		for _, name := range []string{"hack/test/nodes-short.sh", "hack/test/deadline.sh"} {
			content, err := os.ReadFile(filepath.Join("../..", name))
			Expect(err).NotTo(HaveOccurred())
			scripts[name] = string(content)
		}
		for name, content := range scripts {
			Expect(os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o755)).To(Succeed())
			Expect(os.WriteFile(filepath.Join(folder, name), []byte(content), 0o755)).To(Succeed())
		}
		cmd := exec.CommandContext(ctx, filepath.Join(folder, "hack/test/nodes-short.sh"))
		cmd.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "DEADLINE=")
		cmd.Env = append(cmd.Env, environment...)
		output, err := cmd.CombinedOutput()
		return string(output), err
	}

	It("runs where the machine can, and there is time", func(ctx SpecContext) {
		said, err := short(ctx, "exit 0", "exit 0", "CLOCK=echo 100", "DEADLINE=580")
		Expect(err).NotTo(HaveOccurred())
		Expect(said).To(Equal("make --no-print-directory test-nodes NODES_LABELS=short\n"))
	}, SpecTimeout(specs.Patience))

	It("fails if a spec does", func(ctx SpecContext) {
		_, err := short(ctx, "exit 0", "exit 2")
		Expect(err).To(HaveOccurred())
	}, SpecTimeout(specs.Patience))

	It("passes where the machine lacks something, and tells what", func(ctx SpecContext) {
		said, err := short(ctx, "echo it lacks root >&2; exit 1", "exit 2")
		Expect(err).NotTo(HaveOccurred())
		Expect(said).To(Equal("==> real nodes did not run:\nit lacks root\n"))
	}, SpecTimeout(specs.Patience))

	It("passes where there is no time, and tells so", func(ctx SpecContext) {
		said, err := short(ctx, "exit 0", "exit 2", "CLOCK=echo 100", "DEADLINE=579")
		Expect(err).NotTo(HaveOccurred())
		Expect(said).To(Equal("==> real nodes did not run: they can take 480s, and 479s are left\n"))
	}, SpecTimeout(specs.Patience))
})
