// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterclass_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// calm is how long something must not happen.
const calm = 4 * time.Second

func TestClusterClass(t *testing.T) {
	specs.Run(t, "ClusterClass")
}

// deployment is the one MachineDeployment of the cluster, whose name the topology has generated.
func deployment(ctx context.Context, cluster *scenario.Cluster) (*clusterv1.MachineDeployment, error) {
	list := &clusterv1.MachineDeploymentList{}
	if err := cluster.Lab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace())); err != nil {
		return nil, err
	}
	Expect(list.Items).To(HaveLen(1))
	return &list.Items[0], nil
}

// reference of the MachineDeployment to its ElementalMachineTemplate.
func reference(ctx context.Context, cluster *scenario.Cluster) (string, error) {
	md, err := deployment(ctx, cluster)
	if err != nil {
		return "", err
	}
	return md.Spec.Template.Spec.InfrastructureRef.Name, nil
}
