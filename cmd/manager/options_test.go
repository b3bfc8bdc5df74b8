// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

// notOurs are flags of Cluster API's core manager that are about what it alone does, by a pattern, with the reason.
var notOurs = map[string]string{
	`.+-concurrency`:                              "--concurrency is for all kinds",
	`additional-sync-machine-.+`:                  "it alone writes labels of Machines to Nodes",
	`machineset-preflight-checks`:                 "it alone has MachineSets",
	`remote-(connection|conditions)-grace-period`: "it alone has conditions on Clusters that tell of the connection",
	`runtime-extension-client-.+`:                 "it alone calls runtime extensions",
	`skip-crd-migration-phases`:                   "there is one version of each kind",
}

var _ = Describe("The flags", func() {
	It("are those of Cluster API's own managers, by the same names", func(ctx SpecContext) {
		folder, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
		Expect(err).NotTo(HaveOccurred())
		source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "core", "main.go"))
		Expect(err).NotTo(HaveOccurred())
		theirs := regexp.MustCompile(`fs\.\w+Var\(&\w+, "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1)
		Expect(len(theirs)).To(BeNumerically(">", 20))

		ours := pflag.NewFlagSet("manager", pflag.ContinueOnError)
		(&options{}).addFlags(ours)
		missing := []string{}
		for _, flag := range theirs {
			if ours.Lookup(flag[1]) == nil && !isTheirs(flag[1]) {
				missing = append(missing, flag[1])
			}
		}
		Expect(missing).To(BeEmpty())
		for _, flag := range []string{"diagnostics-address", "insecure-diagnostics", "tls-min-version", "tls-cipher-suites", "feature-gates"} {
			Expect(ours.Lookup(flag)).NotTo(BeNil(), flag)
		}
	})
})

var _ = DescribeTable("The flags of the runtime extension",
	func(message string, args ...string) {
		o, flags := &options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
		o.addFlags(flags)
		Expect(flags.Parse(append(args, "--elemental-api-endpoint=elemental.example.com:9090"))).To(Succeed())
		if message == "" {
			Expect(o.validate()).To(Succeed())
			return
		}
		Expect(o.validate()).To(MatchError(HavePrefix(message)))
	},
	Entry("ask for nothing", ""),
	Entry("may be empty, as the Deployment has them by default", "",
		"--runtime-extension-client-ca-file=", "--runtime-extension-client-names="),
	Entry("are an authority and names", "", "--runtime-extension-client-ca-file=ca.crt", "--runtime-extension-client-names=core,kcp"),
	Entry("are no authority alone, which may sign for others, too", "--runtime-extension-client-names is empty: ",
		"--runtime-extension-client-ca-file=ca.crt"),
	Entry("are no names alone, which would protect nothing", "--runtime-extension-client-ca-file is empty: ",
		"--runtime-extension-client-names=core"),
	Entry("are no empty name", "--runtime-extension-client-names has an empty name",
		"--runtime-extension-client-ca-file=ca.crt", "--runtime-extension-client-names=core,"),
	Entry("are not the port of the webhooks", "--runtime-extension-port and --webhook-port are both 9443", "--runtime-extension-port=9443"),
)

// isTheirs reports whether a flag is about what only Cluster API does.
func isTheirs(flag string) bool {
	for pattern := range notOurs {
		if regexp.MustCompile(`^` + pattern + `$`).MatchString(flag) {
			return true
		}
	}
	return false
}
