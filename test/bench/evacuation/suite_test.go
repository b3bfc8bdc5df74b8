// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package evacuation

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
)

const (
	// perMachine is how many calls an evacuation is to make for each virtual machine, at most.
	perMachine = 6
	// patience with an evacuation, and look is how often it is looked how far it has come.
	patience = 40 * time.Minute
	look     = time.Second
)

// size of the crowd of virtual machines, and others is how many Nodes there are besides.
var size, others = 500, 1000

func TestEvacuationBenchmark(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Evacuation benchmark")
}

var _ = BeforeSuite(func() {
	for name, number := range map[string]*int{"EVACUATION_BENCH_VMS": &size, "EVACUATION_BENCH_NODES": &others} {
		if value := os.Getenv(name); value != "" {
			var err error
			*number, err = strconv.Atoi(value)
			Expect(err).NotTo(HaveOccurred(), name)
		}
	}
})

// cost of one evacuation.
type cost struct {
	// Nodes of the cluster besides the one that the virtual machines leave.
	Nodes int `json:"nodes"`
	// Moved is how many virtual machines were moved.
	Moved int `json:"moved"`
	// Seconds from the patch of the template to the end of the attempt, and processor seconds of the manager meanwhile.
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpuSeconds"`
	// PerMachine is how often the manager called the workload cluster for each virtual machine, and Calls what for.
	PerMachine float64        `json:"callsPerVM"`
	Calls      map[string]int `json:"calls"`
}

func (c cost) String() string {
	return fmt.Sprintf("%d virtual machines, %4d other nodes: %.2f calls for each (aim: %d), %5.1f s, %5.1f CPU s",
		c.Moved, c.Nodes, c.PerMachine, perMachine, c.Seconds, c.CPU)
}

func report(costs ...cost) {
	GinkgoHelper()
	for _, one := range costs {
		AddReportEntry(one.String(), ReportEntryVisibilityAlways)
	}
	root, err := repository.Root()
	Expect(err).NotTo(HaveOccurred())
	folder := filepath.Join(root, "bin", "bench")
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	data, err := json.MarshalIndent(map[string]any{"evacuations": costs, "aim": perMachine}, "", "  ")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(folder, "evacuation.json"), append(data, '\n'), 0o644)).To(Succeed())
}
