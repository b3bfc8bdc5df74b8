// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
)

var (
	// cluster is shared by all specs, which run one after the other.
	cluster *scenario.Cluster
	// hosts are those of its workers.
	hosts []*nspawn.Host
)

// shortLabel is the label of the specs that one host is enough for.
const shortLabel = "short"

// isShort reports whether only those specs run.
func isShort() bool { return GinkgoLabelFilter() == shortLabel }

func startCluster(ctx context.Context) {
	GinkgoHelper()
	workers := 3
	if isShort() {
		workers = 1
	}
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{
		Name: "real", Workers: workers, Hosts: powerOnHosts, AssessmentTimeout: assessmentTimeout,
		PreflightErrors: preflightErrors,
	})
	isReady := And(HaveField("Type", corev1.NodeReady), HaveField("Status", corev1.ConditionTrue))
	for _, each := range hosts {
		// The kubelet of a Node that has joined is not Ready at once, and the preflight checks would refuse an upgrade.
		Eventually(readNode).WithContext(ctx).WithArguments(each.Name).Should(HaveField("Status.Conditions", ContainElement(isReady)))
	}
}

// powerOnHosts installs and starts a host for each worker.
func powerOnHosts(_ context.Context, c *scenario.Cluster, agentConfig []byte) error {
	for n := range c.Options.Workers {
		hosts = append(hosts, setup.NewHost(c.HostName(n+1), n+1, c.Image, agentConfig))
	}
	return nil
}
