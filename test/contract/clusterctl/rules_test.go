// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// noRules are headings of the page that are not rules for a provider.
var noRules = []string{
	"Note", "Provider Repositories", "Additional notes", "Components YAML transformations", "Cluster template transformations",
	"Adding a provider to clusterctl", "Creating a provider repository on GitHub", "Creating a provider repository on GitLab",
}

var _ = It("The contract of clusterctl has no rule without a spec", func(ctx SpecContext) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api")
	list.Dir = root
	folder, err := list.Output()
	Expect(err).NotTo(HaveOccurred())
	page, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "docs/book/src/developer/providers/contracts/clusterctl.md"))
	Expect(err).NotTo(HaveOccurred())
	headings := regexp.MustCompile(`(?m)^#{2,4} (.+)$`).FindAllStringSubmatch(string(page), -1)
	Expect(len(headings)).To(BeNumerically(">", 20))

	specs := regexp.MustCompile(`(?:Describe|DescribeTable|It|By)\("(.+?)"`).FindAllStringSubmatch(sources(), -1)
	for _, heading := range headings {
		if slices.Contains(noRules, heading[1]) {
			continue
		}
		Expect(specs).To(ContainElement(HaveExactElements(Not(BeEmpty()), ContainSubstring(heading[1]))), heading[1])
	}
})

// sources of the suites that test the contract.
func sources() string {
	GinkgoHelper()
	all := strings.Builder{}
	for _, folder := range []string{"test/contract/clusterctl", "test/integration/clusterctl", "test/integration/contract"} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		Expect(err).NotTo(HaveOccurred())
		Expect(files).NotTo(BeEmpty(), folder)
		for _, file := range files {
			content, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			all.Write(content)
		}
	}
	return all.String()
}
