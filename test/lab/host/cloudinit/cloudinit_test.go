// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudinit_test

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/cloudinit"
)

var _ = Describe("The yip files of a host", func() {
	var (
		d      disk.Disk
		log    *gbytes.Buffer
		ran    []string
		runner *cloudinit.Runner
	)

	BeforeEach(func() {
		d = disk.Disk(GinkgoT().TempDir())
		Expect(d.WriteFile("/there/file", nil)).To(Succeed())
		Expect(d.WriteFile("/there/script", []byte("#!/bin/sh\nok in\nok script\n"))).To(Succeed())
		log, ran = gbytes.NewBuffer(), nil
		runner = &cloudinit.Runner{Disk: d, Log: log, Commands: map[string]cloudinit.Command{
			"ok": func(_ context.Context, argv []string, _ io.Writer) int {
				ran = append(ran, strings.Join(argv, "|"))
				return 0
			},
			"bad": func(context.Context, []string, io.Writer) int { return 3 },
		}}
	})

	DescribeTable("have commands", func(line string, rc int, calls ...string) {
		Expect(runner.Shell(context.Background(), line)).To(Equal(rc))
		Expect(strings.Join(ran, " ")).To(Equal(strings.Join(calls, " ")))
	},
		Entry("with quotes", `ok "a b" 'c  d' e"f g"`, 0, "ok|a b|c  d|ef g"),
		Entry("by their path", "/usr/bin/ok x", 0, "ok|x"),
		Entry("and", "bad && ok", 3),
		Entry("or", "bad || ok", 0, "ok"),
		Entry("in a chain", "ok 1 && bad && ok 2 || ok 3 ; ok 4", 0, "ok|1", "ok|3", "ok|4"),
		Entry("on several lines", "ok 1\n# no\n\nok 2", 0, "ok|1", "ok|2"),
		Entry("with an operator in quotes", `ok "&&"`, 0, "ok|&&"),
		Entry("that do not exist", "reformat-my-disk now", 127),
		Entry("with an open quote", `ok "`, 2),
		Entry("that test", "[ -f /there/file ] && ok", 0, "ok"),
		Entry("that negate a test", "[ ! -d /there ] && ok", 1),
		Entry("of a script", "umask 022 && sh /there/script", 0, "ok|in", "ok|script"),
		Entry("of a script that is not there", "sh /nowhere", 127),
		Entry("that write where there is no directory", "echo x > /nowhere/file && ok", 1),
	)

	It("change files beneath the root only", func() {
		line := `mkdir -p /a/b && echo "x y" > /a/b/c && echo z >> /a/b/c && touch /a/t && rm -rf /there`
		Expect(runner.Shell(context.Background(), line)).To(BeZero())
		Expect(os.ReadFile(d.Path("/a/b/c"))).To(BeEquivalentTo("x y\nz\n"))
		Expect(d.Path("/a/t")).To(BeAnExistingFile())
		Expect(d.Path("/there")).NotTo(BeAnExistingFile())
	})

	It("run in the order of the stages and of their names", func() {
		Expect(d.WriteFile("/oem/b.yaml", []byte(`
stages:
  network.after: [{commands: [ok 5]}]
  boot: [{commands: [ok 2, bad, ok 3]}, {if: "[ -f /not/there ]", commands: [ok never]}]
  post-upgrade: [{commands: [ok never]}]
`))).To(Succeed())
		Expect(d.WriteFile("/oem/a.yaml", []byte("#cloud-config\nhostname: h\nruncmd: [ok 1]\nstages: {network: [{commands: [ok 4]}]}\n"))).To(Succeed())
		Expect(d.WriteFile("/oem/broken.yaml", []byte("stages: ["))).To(Succeed())
		runner.Run(context.Background())
		Expect(ran).To(Equal([]string{"ok|1", "ok|2", "ok|3", "ok|4", "ok|5"}))
		Expect(log).To(gbytes.Say("failed to load file '/oem/broken.yaml'"))
		Expect(os.ReadFile(d.Path("/etc/hostname"))).To(BeEquivalentTo("h\n"))
	})

	It("are rendered by the toolkit's engine", func() {
		Expect(d.WriteFile("/oem/x.yaml", []byte(`stages: {boot: [{files: [{path: /f, content: "a {{.Missing}} b"}], commands: ["ok {{.Missing}}"]}]}`))).To(Succeed())
		Expect(runner.Run(context.Background())).To(BeEmpty())
		Expect(os.ReadFile(d.Path("/f"))).To(BeEquivalentTo("a <no value> b"))
		Expect(ran).To(Equal([]string{"ok|<no|value>"}))
	})

	It("do not wait for those before a file that has no step for their stage", func() {
		for name, stages := range map[string]string{"a": "network: [{commands: [first]}]", "b": "boot: []", "c": "network: [{commands: [second]}]"} {
			Expect(d.WriteFile("/oem/"+name+".yaml", []byte("stages: {"+stages+"}"))).To(Succeed())
		}
		second := make(chan struct{})
		runner.Commands["second"] = func(context.Context, []string, io.Writer) int {
			close(second)
			return 0
		}
		runner.Commands["first"] = func(ctx context.Context, _ []string, _ io.Writer) int {
			select {
			case <-second:
				return 0
			case <-ctx.Done():
				return 1
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		Expect(runner.Run(ctx)).To(BeEmpty())
	})

	DescribeTable("write files", func(file, content string, mode os.FileMode) {
		Expect(d.WriteFile("/oem/x.yaml", []byte("stages: {boot: [{files: [{path: /f, "+file+"}]}]}"))).To(Succeed())
		Expect(runner.Run(context.Background())).To(BeEmpty())
		Expect(os.ReadFile(d.Path("/f"))).To(BeEquivalentTo(content))
		info, err := os.Stat(d.Path("/f"))
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode().Perm()).To(Equal(mode))
	},
		Entry("plain, mode as a number", "content: hi, permissions: 384", "hi", os.FileMode(0o600)),
		Entry("mode as an octal number", "content: hi, permissions: 0640", "hi", os.FileMode(0o640)),
		Entry("base64", "content: aGk=, encoding: b64, permissions: 420", "hi", os.FileMode(0o644)),
		Entry("compressed", "content: H4sIAAAAAAAA/8vIBACsKpPYAgAAAA==, encoding: gz+b64, permissions: 420", "hi", os.FileMode(0o644)),
	)

	It("add users, and their keys", func() {
		Expect(d.WriteFile("/oem/x.yaml", []byte("stages: {boot: [{users: {a: {ssh_authorized_keys: [k], groups: [g]}, b: {lock_passwd: true}}, authorized_keys: {root: [r]}}]}"))).To(Succeed())
		Expect(runner.Run(context.Background())).To(BeEmpty())
		Expect(os.ReadFile(d.Path("/etc/shadow"))).To(BeEquivalentTo("a::::::::\nb:!:::::::\n"))
		Expect(os.ReadFile(d.Path("/etc/group"))).To(BeEquivalentTo("g:a\n:b\n"))
		Expect(os.ReadFile(d.Path("/home/a/.ssh/authorized_keys"))).To(BeEquivalentTo("k\n"))
		Expect(os.ReadFile(d.Path("/root/.ssh/authorized_keys"))).To(BeEquivalentTo("r\n"))
	})
})
