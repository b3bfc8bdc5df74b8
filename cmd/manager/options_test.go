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

// isTheirs says whether a flag is about what only Cluster API does.
func isTheirs(flag string) bool {
	for pattern := range notOurs {
		if regexp.MustCompile(`^` + pattern + `$`).MatchString(flag) {
			return true
		}
	}
	return false
}
