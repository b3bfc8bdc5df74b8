// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"net"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var (
	// cluster is shared by all specs, which run one after the other.
	cluster *scenario.Cluster
	// hosts are those of its workers.
	hosts []*host
)

// shortLabel is the label of the specs that one host is enough for.
const shortLabel = "short"

func startCluster(ctx context.Context) {
	GinkgoHelper()
	workers := 3
	if GinkgoLabelFilter() == shortLabel {
		workers = 1
	}
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{
		Name: "real", Workers: workers, Hosts: powerOnHosts, Patience: patience, AssessmentTimeout: assessmentTimeout,
		PreflightErrors: preflightErrors,
	})
}

// powerOnHosts installs and starts a host for each worker. The lab is on this machine's loopback interface, and on those of the hosts.
func powerOnHosts(_ context.Context, c *scenario.Cluster, agentConfig []byte) error {
	ports := []int{c.Workload().Port(), portOf(theLab.ElementalAPI()), portOf(theLab.Registry.Host())}
	for n := range c.Options.Workers {
		hosts = append(hosts, newHost(machine{
			name: c.HostName(n + 1), number: n + 1, installed: c.Image, agentConfig: agentConfig, ports: ports,
		}))
	}
	return nil
}

func portOf(address string) int {
	GinkgoHelper()
	_, text, err := net.SplitHostPort(address)
	Expect(err).NotTo(HaveOccurred())
	port, err := strconv.Atoi(text)
	Expect(err).NotTo(HaveOccurred())
	return port
}
