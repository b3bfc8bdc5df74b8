// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// newStandIn creates a cluster with Machines of a control plane of K3s, and one of nobody, all from one template. It has a worker, too,
// whose bootstrap data they use.
func newStandIn(ctx context.Context, name, template string, controlPlanes []string, alone string) *scenario.Cluster {
	GinkgoHelper()
	workload, err := theLab.StartWorkload(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	cluster := suite.NewCluster(ctx, theLab, scenario.Options{Name: name, Workload: workload, Workers: 1, Spare: len(controlPlanes) + 1})
	Expect(cluster.CopyTemplate(ctx, template)).To(Succeed())
	controller, err := cluster.ControlPlaneStandIn(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, machine := range controlPlanes {
		Expect(cluster.CreateMachine(ctx, machine, template, controller)).To(Succeed())
	}
	Expect(cluster.CreateMachine(ctx, alone, template, nil)).To(Succeed())
	Expect(cluster.AwaitMachines(ctx, append(controlPlanes, alone)...)).To(Succeed())
	Expect(cluster.AwaitRolledOut(ctx, template)).To(Succeed())
	return cluster
}
