// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/cli"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/install"
)

// host is a host of the lab on which stages fail, and images can be made.
type host struct {
	*install.Simulated
	directories []string
	made        bool
}

func (*host) PowerOff() error { return nil }
func (*host) Reboot() error   { return nil }

func (h *host) Init() error {
	h.made = true
	return nil
}

func (h *host) RunStage(_ context.Context, _ string, directories []string) error {
	h.directories = directories
	return errors.New("exit status 3")
}

var _ = Describe("The front of the CLI", func() {
	var h *host

	BeforeEach(func() { h = &host{Simulated: &install.Simulated{Disk: disk.Disk(GinkgoT().TempDir())}} })

	run := func(environ []string, args ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		call := cli.Call{
			Args: args, Environ: environ, Stdout: &out, Stderr: &errs, Now: time.Now,
			On: func(*logrus.Logger) cli.Host { return h },
		}
		return call.Run(context.Background()), out.String(), errs.String()
	}

	DescribeTable("runs stages of a boot", func(code int, logged string, environ []string, args ...string) {
		got, stdout, _ := run(environ, append([]string{"run-stage", "boot"}, args...)...)
		Expect(got).To(Equal(code))
		Expect(stdout).To(ContainSubstring(logged))
	},
		Entry("and logs what fails", 0, "Some errors found but were ignored", nil),
		Entry("and fails, too, by a flag", 65, "", nil, "--strict"),
		Entry("and fails, too, by a variable", 65, "", []string{"ELEMENTAL_STRICT=true"}),
	)

	DescribeTable("reads cloud-init files in its own directories, and in others", func(configured string, environ []string, others ...string) {
		Expect(h.WriteFile("/etc/elemental/config.d/paths.yaml", []byte(configured))).To(Succeed())
		run(environ, "run-stage", "boot")
		Expect(h.directories).To(Equal(append([]string{"/system/oem", "/oem/", "/usr/local/cloud-config/"}, others...)))
	},
		Entry("none", "", nil),
		Entry("of its configuration", "cloud-init-paths: [/a, /b]", nil, "/a", "/b"),
		Entry("of a variable, which replaces those", "cloud-init-paths: [/a, /b]", []string{"ELEMENTAL_CLOUD_INIT_PATHS=/c"}, "/c"),
	)

	It("adds to the tree of an image where it can", func() {
		code, _, _ := run(nil, "init", "--force", "--mkinitrd=false")
		Expect(code).To(BeZero())
		Expect(h.made).To(BeTrue())
	})

	DescribeTable("refuses", func(code int, said string, args ...string) {
		got, stdout, stderr := run(nil, args...)
		Expect(got).To(Equal(code))
		Expect(stdout + stderr).To(ContainSubstring(said))
	},
		Entry("no command", 1, "one command is wanted"),
		Entry("two", 1, "one command is wanted", "upgrade", "reset"),
		Entry("one that it does not have", 1, "unknown command", "build-iso"),
		Entry("a flag that it does not have", 1, "unknown flag", "upgrade", "--fast"),
		Entry("an upgrade of a disk that it does not find", 33, "undefined state partition", "upgrade", "--system", "oci:registry/os:v1"),
		Entry("a reset outside of recovery", 33, "reset can only be called from the recovery system", "reset"),
		Entry("a state that is not there", 89, "reading state", "state"),
	)
})
