// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// book is the folder of the contracts in the book of the version of Cluster API in go.mod.
func book(ctx context.Context) string {
	GinkgoHelper()
	folder, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	Expect(err).NotTo(HaveOccurred())
	return filepath.Join(strings.TrimSpace(string(folder)), "docs/book/src/developer/providers/contracts")
}

// mandatory are the rules in the table of a page of the book, and whether each is mandatory.
func mandatory(content string) map[string]string {
	GinkgoHelper()
	rules := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^\| \[(.+?)\] +\| (Yes|No) `).FindAllStringSubmatch(content, -1) {
		rules[match[1]] = strings.ToLower(match[2])
	}
	Expect(len(rules)).To(BeNumerically(">", 10))
	return rules
}

var _ = DescribeTable("contract.md has a row for every rule of Cluster API's page, as mandatory as there, and names the spec of the rule:",
	func(ctx SpecContext, section, file string) {
		_, content, found := strings.Cut(page("contract.md"), "\n## "+section+"\n")
		Expect(found).To(BeTrue())
		content, _, _ = strings.Cut(content, "\n## ")
		shown := map[string]string{}
		for _, row := range regexp.MustCompile("(?m)^\\| (.+?) \\| (yes|no) \\| .+ \\| `([^`]+)` \\|$").FindAllStringSubmatch(content, -1) {
			shown[row[1]] = row[2]
			Expect(page(filepath.Join("..", row[3]))).To(ContainSubstring(`"`+row[1]+`"`), "the spec has the name of the rule")
		}
		Expect(shown).To(Equal(mandatory(page(filepath.Join(book(ctx), file)))))
	},
	Entry(nil, "InfraCluster", "infra-cluster.md"),
	Entry(nil, "InfraMachine", "infra-machine.md"),
)

var _ = DescribeTable("compatibility.md has the version that is tested of",
	func(component, source, pattern string) {
		version := regexp.MustCompile(pattern).FindStringSubmatch(page(filepath.Join("..", source)))
		Expect(version).NotTo(BeNil())
		Expect(page("compatibility.md")).To(MatchRegexp(`(?m)^\| [^|]*` + component + `[^|]* \| ` + regexp.QuoteMeta(version[1]) + `\b`))
	},
	Entry(nil, "Cluster API", "go.mod", `sigs\.k8s\.io/cluster-api (v\S+)`),
	Entry(nil, "Kubernetes", "hack/tools/kube/go.mod", `k8s\.io/kubernetes (v\S+)`),
	Entry(nil, "etcd", "hack/tools/kube/go.mod", `go\.etcd\.io/etcd/server/v3 (v\S+)`),
	Entry(nil, "cert-manager", "hack/tools/certmanager/go.mod", `github\.com/cert-manager/cert-manager (v\S+)`),
	Entry(nil, "KubeVirt", "hack/tools/kubevirt/go.mod", `kubevirt\.io/kubevirt (v\S+)`),
	Entry(nil, "K3s providers", "hack/tools/k3s/go.mod", `github\.com/k3s-io/cluster-api-k3s (v\S+)`),
	Entry(nil, "Elemental toolkit", "test/lab/double/cli/call.go", `Version = "(v\S+)"`),
)

var _ = It("compatibility.md has the contract of every release series", func() {
	series := regexp.MustCompile(`(?m)^- major: (\d+)\n  minor: (\d+)\n  contract: (\S+)$`).FindAllStringSubmatch(page("../metadata.yaml"), -1)
	Expect(len(series)).To(BeNumerically(">", 8))
	for _, one := range series {
		row := `\| ` + one[1] + `\.` + one[2] + ` \| ` + one[3]
		if one[3] == "v1beta1" {
			row = `\| 0\.0 to 0\.7, the predecessor \| v1beta1`
		}
		Expect(page("compatibility.md")).To(MatchRegexp(row))
	}
})
