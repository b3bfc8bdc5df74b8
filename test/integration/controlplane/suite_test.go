// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// calm is how long something must not happen.
const calm = 8 * time.Second

// theLab is shared by all specs.
var theLab *lab.Lab

func TestControlPlane(t *testing.T) {
	specs.Run(t, "Control plane")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{})
	suite.KeepsMachines(theLab)
})

// pointTo makes the KubeadmControlPlane refer to a template.
func pointTo(ctx context.Context, cluster *scenario.Cluster, template string) error {
	kcp, err := cluster.KubeadmControlPlane(ctx)
	if err != nil {
		return err
	}
	kcp.Spec.MachineTemplate.Spec.InfrastructureRef.Name = template
	return cluster.Lab.Kube.Update(ctx, kcp)
}
