// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
)

const (
	apiFolder      = "api/v1beta1"
	sequenceFolder = "controllers/hostupgrade"
)

// missingRows are the names without a line in a table of the page: a cell that is the name and nothing
// else.
func missingRows(content string, names []string) []string {
	GinkgoHelper()
	Expect(names).NotTo(BeEmpty())
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return regexp.MustCompile(`(?m)^\|(.*\|)? *` + regexp.QuoteMeta("`"+name+"`") + ` *\|`).MatchString(content)
	})
}

func ends(suffix string) func(string) bool {
	return func(name string) bool { return strings.HasSuffix(name, suffix) }
}

func begins(prefix string) func(string) bool {
	return func(name string) bool { return strings.HasPrefix(name, prefix) }
}

var _ = DescribeTable("troubleshooting.md has an entry for every",
	func(folder string, accepted func(string) bool) {
		names := valuesOf(constants(folder), accepted)
		Expect(missingRows(page("troubleshooting.md"), names)).To(BeEmpty())
	},
	Entry("reason of a condition", apiFolder, ends("Reason")),
	Entry("event", apiFolder, begins("Event")),
	Entry("phase of an attempt", apiFolder, func(name string) bool {
		return strings.HasPrefix(name, "Upgrade") && !strings.HasSuffix(name, "Condition") && !strings.HasSuffix(name, "Reason")
	}),
	Entry("step of an attempt", sequenceFolder, begins("step")),
)

var _ = Describe("troubleshooting.md", func() {
	It("has an entry for every hold, with who can end it", func() {
		for _, reason := range infrav1.HoldReasons() {
			Expect(page("troubleshooting.md")).To(ContainSubstring(fmt.Sprintf("\n| `%s` | %s | ", reason, reason.Who())), string(reason))
		}
	})

	It("has an entry for every preflight check", func() {
		names := []string{}
		for _, check := range preflight.Checks(kubevirt.Resident{}, longhorn.Resident{}) {
			names = append(names, check.Name)
		}
		Expect(missingRows(page("troubleshooting.md"), names)).To(BeEmpty())
	})
})

var _ = It("concepts.md shows every phase of an attempt", func() {
	phases := valuesOf(constants(apiFolder), func(name string) bool {
		return strings.HasPrefix(name, "Upgrade") && !strings.HasSuffix(name, "Condition") && !strings.HasSuffix(name, "Reason")
	})
	Expect(phases).NotTo(BeEmpty())
	for _, phase := range phases {
		Expect(page("concepts.md")).To(MatchRegexp(`(--> |: )` + phase))
	}
})

var _ = Describe("reference.md", func() {
	It("has a line for every label, annotation and finalizer", func() {
		names := valuesOf(constants(apiFolder), func(name string) bool {
			return slices.ContainsFunc([]string{"Label", "Annotation", "Finalizer"}, func(kind string) bool { return strings.HasSuffix(name, kind) })
		})
		Expect(missingRows(page("reference.md"), names)).To(BeEmpty())
	})

	It("has a line for every flag that the manager defines itself", func() {
		flags := calls("cmd/manager", 1, ends("Var"))
		for i := range flags {
			flags[i] = "--" + flags[i]
		}
		Expect(missingRows(page("reference.md"), flags)).To(BeEmpty())
	})

	It("has a line for every metric", func() {
		sources, err := filepath.Glob("../*/*/metrics.go")
		Expect(err).NotTo(HaveOccurred())
		names := []string{}
		for _, source := range sources {
			names = append(names, regexp.MustCompile(`elemental_[a-z_]+`).FindAllString(page(source), -1)...)
		}
		Expect(len(names)).To(BeNumerically(">=", 9))
		Expect(missingRows(page("reference.md"), names)).To(BeEmpty())
	})

	It("names every state of a host", func() {
		states := valuesOf(constants("internal/hoststate"), begins("State"))
		Expect(states).NotTo(BeEmpty())
		for _, state := range states {
			Expect(page("reference.md")).To(ContainSubstring("`" + state + "`"))
		}
	})
})

var _ = It("A table that kubectl prints of our kinds has their columns", func() {
	table := regexp.MustCompile(`(?m)^(?:\$ )?kubectl .*\bget (\w+).*\n(?:\x60{3}\n\n\x60{3}console\n)?(NAME .+)$`)
	seen := 0
	pages, err := filepath.Glob("*.md")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range pages {
		for _, match := range table.FindAllStringSubmatch(page(path), -1) {
			columns, ours := columnsOf(match[1])
			if !ours {
				continue
			}
			shown := strings.Fields(match[2])
			if slices.Contains(shown, "...") {
				shown = slices.DeleteFunc(shown, func(column string) bool { return column == "..." })
				Expect(columns).To(ContainElements(shown), path+": "+match[0])
			} else {
				Expect(shown).To(Equal(columns), path+": "+match[0])
			}
			seen++
		}
	}
	Expect(seen).To(BeNumerically(">=", 3))
})

// definition is what kubectl reads of a kind.
type definition struct {
	Spec struct {
		Names struct {
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []struct {
			Columns []struct {
				Name     string `json:"name"`
				Priority int    `json:"priority"`
			} `json:"additionalPrinterColumns"`
		} `json:"versions"`
	} `json:"spec"`
}

// columnsOf a kind, by its plural or short name, as kubectl prints them.
func columnsOf(name string) (columns []string, ours bool) {
	GinkgoHelper()
	files, err := filepath.Glob("../config/crd/bases/*.yaml")
	Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		kind := definition{}
		Expect(yaml.Unmarshal([]byte(page(file)), &kind)).To(Succeed())
		if names := kind.Spec.Names; names.Plural != name && !slices.Contains(names.ShortNames, name) {
			continue
		}
		columns = []string{"NAME"}
		for _, column := range kind.Spec.Versions[0].Columns {
			if column.Priority == 0 {
				columns = append(columns, strings.ToUpper(column.Name))
			}
		}
		return columns, true
	}
	return nil, false
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fence    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	unanchor = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors of a page, as forges make them from headings.
func anchors(content string) []string {
	found := []string{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(content, ""), -1) {
		plain := unanchor.ReplaceAllString(strings.ToLower(match[1]), "")
		found = append(found, strings.ReplaceAll(plain, " ", "-"))
	}
	return found
}

func brokenLinks(path string) []string {
	GinkgoHelper()
	broken := []string{}
	for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(page(path), ""), -1) {
		target, anchor, _ := strings.Cut(match[1], "#")
		if strings.Contains(target, "://") {
			continue
		}
		file := path
		if target != "" {
			file = filepath.Join(filepath.Dir(path), target)
		}
		if _, err := os.Stat(file); err != nil {
			broken = append(broken, path+": "+match[1])
		} else if anchor != "" && !slices.Contains(anchors(page(file)), anchor) {
			broken = append(broken, path+": "+match[1])
		}
	}
	return broken
}

var _ = It("Specs that a page names exist", func() {
	named, missing := regexp.MustCompile("`([a-z][A-Za-z0-9_.-]*/[A-Za-z0-9_./-]*_test\\.go)`"), []string{}
	pages, err := filepath.Glob("*.md")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range pages {
		for _, match := range named.FindAllStringSubmatch(page(path), -1) {
			if _, err := os.Stat(filepath.Join("..", match[1])); err != nil {
				missing = append(missing, path+": "+match[1])
			}
		}
	}
	Expect(missing).To(BeEmpty())
})

var _ = Describe("Links", func() {
	It("lead somewhere", func() {
		broken := []string{}
		for _, pattern := range []string{"*.md", "adr/*.md", "reference/*.md", "../*.md"} {
			paths, err := filepath.Glob(pattern)
			Expect(err).NotTo(HaveOccurred())
			Expect(paths).NotTo(BeEmpty(), pattern)
			for _, path := range paths {
				broken = append(broken, brokenLinks(path)...)
			}
		}
		Expect(broken).To(BeEmpty())
	})
})

var _ = It("The pages name no label or annotation of ours that does not exist", func() {
	key := regexp.MustCompile(`(?:^|[^\w.-]|annotations\.)(infrastructure\\?\.cluster\\?\.x-k8s\\?\.io/[a-z0-9-]*[a-z0-9])`)
	known := map[string]bool{}
	for _, value := range constants(apiFolder) {
		known[strings.TrimSuffix(value, "=")] = true
	}
	names, err := filepath.Glob("*.md")
	Expect(err).NotTo(HaveOccurred())
	for _, name := range names {
		for _, found := range key.FindAllStringSubmatch(page(name), -1) {
			named := strings.ReplaceAll(found[1], `\`, "")
			if strings.HasSuffix(named, "/v1beta1") {
				continue
			}
			Expect(known).To(HaveKey(named), name)
		}
	}
})
