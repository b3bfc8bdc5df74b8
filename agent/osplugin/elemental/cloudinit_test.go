// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// largeFiles are compressed files of so many bytes.
func largeFiles(sizes ...int) string {
	data := "write_files:\n"
	for i, size := range sizes {
		packed := bytes.Buffer{}
		writer := gzip.NewWriter(&packed)
		_, err := writer.Write(make([]byte, size))
		Expect(errors.Join(err, writer.Close())).To(Succeed())
		data += fmt.Sprintf("- {path: /%d, encoding: gz+b64, content: %q}\n", i+1, base64.StdEncoding.EncodeToString(packed.Bytes()))
	}
	return data
}

var _ = Describe("A cloud-config", func() {
	var r *rig
	ctx := context.Background()

	BeforeEach(func() { r = newRig() })

	DescribeTable("names its users",
		func(users string, expected ...string) {
			Expect(r.plugin.Bootstrap(ctx, wire.Bootstrap{Format: "cloud-config", Config: "users: " + users})).To(Succeed())
			written := r.read("/oem/bootstrap-cloud-config.yaml")
			if len(expected) == 0 {
				Expect(written).NotTo(ContainSubstring("users:"))
			}
			for _, each := range expected {
				Expect(written).To(ContainSubstring(each))
			}
		},
		Entry("by default", "default"),
		Entry("by default, in a list", "[default]"),
		Entry("not at all", "null"),
		Entry("with commas", "default, admin", "admin:\n                lock_passwd: true"),
		Entry("with what belongs to them", "[{name: x, gecos: A B, uid: 1001, primary_group: g, no_create_home: true, sudo: null}]",
			"gecos: A B", `uid: "1001"`, "primary_group: g", "no_create_home: true"),
		Entry("with rules", "[{name: x, sudo: ['ALL=(a) b', c]}, {name: y, sudo: false}, {name: z, sudo: d}]",
			base64.StdEncoding.EncodeToString([]byte("\n# User rules for x\nx ALL=(a) b\nx c\n\n# User rules for z\nz d\n"))),
	)

	DescribeTable("has no rules for a user without them", func(sudo string) {
		config := "users: [{name: x, sudo: " + sudo + "}]"
		Expect(r.plugin.Bootstrap(ctx, wire.Bootstrap{Format: "cloud-config", Config: config})).To(Succeed())
		Expect(r.read("/oem/bootstrap-cloud-config.yaml")).NotTo(ContainSubstring("sudoers"))
	},
		Entry("null", "null"), Entry("false", "false"), Entry("False, as cloud-init documents it", "False"),
		Entry("no", "no"), Entry("Off", "Off"), Entry("an empty text", "''"), Entry("an empty list", "[]"),
	)

	It("is one document", func() {
		bootstrap := func(config string) error {
			return r.plugin.Bootstrap(ctx, wire.Bootstrap{Format: "cloud-config", Config: config})
		}
		for _, one := range []string{"", "#cloud-config\n", "## template: jinja\n#cloud-config\n---\nruncmd: [x]\n", "runcmd: [x]\n---\n", "runcmd: [x]\n...\n"} {
			Expect(bootstrap(one)).To(Succeed(), one)
		}
		two := bootstrap("runcmd: [x]\n---\nwrite_files: [{path: /x}]\n")
		Expect(two).To(And(MatchError(osplugin.ErrUnsupported), MatchError(ContainSubstring("it has more than one YAML document"))))
	})

	It("has what its aliases stand for", func() {
		config := "write_files:\n- {path: /a, permissions: &mode '0600'}\n- {path: /b, permissions: *mode}\n" +
			"users:\n- &first {name: x, sudo: &all ALL, groups: &groups 'g, h'}\n- {name: y, sudo: *all, groups: *groups}\n- {<<: *first, name: z}\n" +
			"runcmd: [&command echo a, *command]\n"
		Expect(r.plugin.Bootstrap(ctx, wire.Bootstrap{Format: "cloud-config", Config: config})).To(Succeed())
		written := r.read("/oem/bootstrap-cloud-config.yaml")
		Expect(written).To(MatchRegexp(`path: /a\n +permissions: 384\n[^/]*path: /b\n +permissions: 384\n`))
		for _, content := range []string{
			"\n# User rules for x\nx ALL\n\n# User rules for y\ny ALL\n\n# User rules for z\nz ALL\n", "#!/bin/sh\necho a\necho a\n",
		} {
			Expect(written).To(ContainSubstring(base64.StdEncoding.EncodeToString([]byte(content))))
		}
		Expect(strings.Count(written, "- h\n")).To(Equal(3))
	})

	DescribeTable("names the owners of its files",
		func(owner, expected string) {
			config := fmt.Sprintf("write_files: [{path: /x, owner: %q}]", owner)
			Expect(r.plugin.Bootstrap(ctx, wire.Bootstrap{Format: "cloud-config", Config: config})).To(Succeed())
			Expect(r.read("/oem/bootstrap-cloud-config.yaml")).To(ContainSubstring("ownerstring: " + expected + "\n"))
		},
		Entry("both", "etcd:etcd", "etcd:etcd"),
		Entry("the user", "etcd", "etcd:root"),
		Entry("the group", ":etcd", "root:etcd"),
		Entry("neither", "", "root:root"),
		Entry("as cloud-init leaves one as it is", "none:-1", "root:root"),
	)

	It("has the largest files that are unpacked", func() {
		data := wire.Bootstrap{Format: "cloud-config", Config: largeFiles(4<<20, 4<<20)}
		Expect(r.plugin.Bootstrap(ctx, data)).To(Succeed())
	})
})
