// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// rights of a role: the verbs of each resource, as they stand in the table.
func rights(role *rbacv1.ClusterRole) map[string]string {
	GinkgoHelper()
	verbs := map[string][]string{}
	for _, rule := range role.Rules {
		Expect(rule.ResourceNames).To(BeEmpty(), "the table has no column for names")
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name := qualified(group, resource)
				verbs[name] = append(verbs[name], rule.Verbs...)
			}
		}
	}
	written := map[string]string{}
	for name, all := range verbs {
		slices.Sort(all)
		written[name] = "`" + strings.Join(slices.Compact(all), "`, `") + "`"
	}
	return written
}

// qualified is RESOURCE.GROUP/SUBRESOURCE.
func qualified(group, resource string) string {
	if group == "" {
		return resource
	}
	kind, subresource, isSubresource := strings.Cut(resource, "/")
	if isSubresource {
		return kind + "." + group + "/" + subresource
	}
	return kind + "." + group
}

var _ = It("security.md has a row for every right of the manager, with why it has it and what it would allow, and for no other", func() {
	role := &rbacv1.ClusterRole{}
	Expect(yaml.UnmarshalStrict([]byte(page("../config/rbac/role.yaml")), role)).To(Succeed())
	_, section, found := strings.Cut(page("security.md"), "### Its rights\n")
	Expect(found).To(BeTrue())
	section, _, _ = strings.Cut(section, "\n#")
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(section, -1) {
		Expect(rows).NotTo(HaveKey(row[1]), "it has two rows")
		rows[row[1]] = row[2]
	}
	Expect(rows).To(Equal(rights(role)))
})

// granted are the verbs of each resource that the account of a workload cluster has.
func granted() map[string][]string {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{}
	text, _, _ := strings.Cut(page("../config/workload/role.yaml"), "\n---\n")
	Expect(yaml.UnmarshalStrict([]byte(text), role)).To(Succeed())
	verbs := map[string][]string{}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name := qualified(group, resource)
				verbs[name] = append(verbs[name], rule.Verbs...)
			}
		}
	}
	return verbs
}

var _ = Describe("The account of config/workload may", func() {
	It("list each kind of Longhorn that is read", func() {
		source := page("../internal/workload/longhorn/read.go") + page("../internal/workload/longhorn/replenishment.go")
		kinds := regexp.MustCompile(`list\(ctx, in, "(\w+)"|Kind: "(\w+)"`).FindAllStringSubmatch(source, -1)
		Expect(len(kinds)).To(BeNumerically(">=", 5))
		for _, kind := range kinds {
			resource := strings.ToLower(kind[1]+kind[2]) + "s.longhorn.io"
			Expect(granted()[resource]).To(ContainElement("list"), resource)
		}
	})

	It("read the Leases of a control plane's kubelets, one by one", func() {
		Expect(page("../internal/preflight/leases.go")).To(ContainSubstring("existing.Get(ctx, from.Workload.Live(), &coordinationv1.Lease{}"))
		Expect(granted()["leases.coordination.k8s.io"]).To(Equal([]string{"get"}))
	})
})
