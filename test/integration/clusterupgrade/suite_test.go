// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// whole is the timeout for an upgrade of all nodes, and calm is how long something must not happen.
	whole = 10 * time.Minute
	calm  = 5 * time.Second

	poolA, poolB = "pool-a", "pool-b"
	// all nodes of the cluster, and those of its control plane.
	all, ofControlPlane = 6, 3
)

// The suite has one cluster, which each spec upgrades.
var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
	before  []scenario.Identity
)

func TestClusterUpgrade(t *testing.T) {
	specs.Run(t, "Cluster upgrade")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{})
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{
		ControlPlane: ofControlPlane, Pools: []scenario.Pool{{Name: poolA, Workers: 1}, {Name: poolB, Workers: 2}},
	})
	var err error
	before, err = cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterEach(func(ctx SpecContext) {
	if cluster != nil {
		Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
		Expect(audit.Deleted(suite.Audit(theLab.Management), "machines")).To(BeEmpty(), "no Machine was deleted")
	}
})

// apply an ElementalClusterUpgrade of a name as a person does, with what its spec has besides the Cluster and the image.
func apply(ctx context.Context, name string, wanted image.Image, spec string) error {
	return cluster.ApplyUpgrade(ctx, name, wanted, spec)
}

// patch the spec of an ElementalClusterUpgrade.
func patch(ctx context.Context, name, spec string) error {
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "ecu", name, "--type", "merge", "--patch", `{"spec":`+spec+`}`)
	return err
}

// status of an ElementalClusterUpgrade.
func status(ctx context.Context, name string) (infrav1.ElementalClusterUpgradeStatus, error) {
	found, err := cluster.Upgrade(ctx, name)
	return found.Status, err
}

// phase of an ElementalClusterUpgrade.
func phase(ctx context.Context, name string) (infrav1.ClusterUpgradePhase, error) {
	found, err := status(ctx, name)
	return found.Phase, err
}

// begun are the hosts whose attempts at an image have been past Admit, in the order in which they were.
func begun(ctx context.Context, wanted image.Image) ([]string, error) {
	found, err := cluster.Attempts(ctx)
	found = slices.DeleteFunc(found, func(u infrav1.ElementalHostUpgrade) bool {
		return u.Spec.ImageURI != wanted.URI() || !attempts.HasEntered(&u, attempts.StepCordon)
	})
	slices.SortFunc(found, func(a, b infrav1.ElementalHostUpgrade) int { return cordonedAt(a).Compare(cordonedAt(b)) })
	hosts := []string{}
	for _, attempt := range found {
		hosts = append(hosts, attempt.Spec.HostName)
	}
	return hosts, err
}

func cordonedAt(attempt infrav1.ElementalHostUpgrade) time.Time {
	for _, step := range attempt.Status.Steps {
		if step.Name == attempts.StepCordon {
			return step.StartTime.Time
		}
	}
	return time.Time{}
}

// awaitAll waits until all nodes run an image.
func awaitAll(ctx context.Context, wanted image.Image) {
	GinkgoHelper()
	Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
	Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
}

// hostsOf a pool.
func hostsOf(ctx context.Context, pool string) []string {
	GinkgoHelper()
	machines, err := cluster.PoolMachines(ctx, pool)
	Expect(err).NotTo(HaveOccurred())
	hosts, err := cluster.Hosts(ctx)
	Expect(err).NotTo(HaveOccurred())
	found := []string{}
	for i := range hosts {
		for j := range machines {
			if hosts[i].Labels[infrav1.MachineNameLabel] == machines[j].Name {
				found = append(found, hosts[i].Name)
			}
		}
	}
	return found
}
