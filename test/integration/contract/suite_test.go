// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	calm = 3 * time.Second
	// zoneA has all hosts but the last, which is in zoneB.
	zoneA, zoneB = "zone-a", "zone-b"
	workers      = 1
)

func TestContract(t *testing.T) {
	specs.Run(t, "Contract")
}

var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
)

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{WorkloadAccount: true})
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Workers: workers, Spare: 2})
	suite.AddNode(ctx, cluster)
	for n, zone := range []string{zoneA, zoneA, zoneB} {
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "label", "elementalhost", cluster.HostName(n+1), corev1.LabelTopologyZone+"="+zone)
		Expect(err).NotTo(HaveOccurred())
	}
})

// rules are the specs, by the names of the rules.
type rules map[string]func(ctx SpecContext)

// declare creates a spec for each rule, and one that compares them with the page.
func (r rules) declare(page string) {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		It(name, func(ctx SpecContext) { r[name](ctx) })
	}
	It("has no other rule", func(ctx SpecContext) {
		Expect(slices.Sorted(maps.Keys(r))).To(Equal(rulesOf(ctx, page)))
	})
}

var row = regexp.MustCompile(`(?m)^\| \[(.+?)\] +\| (?:Yes|No) `)

// rulesOf a page of Cluster API's book, sorted.
func rulesOf(ctx context.Context, page string) []string {
	GinkgoHelper()
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api")
	list.Dir = theLab.Root()
	folder, err := list.Output()
	Expect(err).NotTo(HaveOccurred())
	content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "docs/book/src/developer/providers/contracts", page))
	Expect(err).NotTo(HaveOccurred())
	names := []string{}
	for _, match := range row.FindAllStringSubmatch(string(content), -1) {
		names = append(names, match[1])
	}
	Expect(len(names)).To(BeNumerically(">", 10))
	slices.Sort(names)
	return names
}
