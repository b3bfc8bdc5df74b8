// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterkubevirt_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// whole is the timeout for an upgrade of KubeVirt, or of all nodes.
	whole = 15 * time.Minute
	// calm is how long something must not happen.
	calm = 5 * time.Second
)

// Those of the spec that runs.
var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
)

func TestClusterKubeVirt(t *testing.T) {
	specs.Run(t, "Cluster upgrade with KubeVirt")
}

var _ = BeforeSuite(func() {
	if missing := kubevirt.Missing(filepath.Join(specs.Root(), "bin", "tools")); missing != "" {
		Skip(missing)
	}
})

// start a lab of its own for a spec: KubeVirt is not downgraded.
func start(ctx context.Context, options lab.Options, of scenario.Options) {
	GinkgoHelper()
	options.VirtOperator = true
	theLab = suite.StartLab(ctx, options)
	cluster = suite.NewCluster(ctx, theLab, of)
	Expect(theLab.KubeVirt.AwaitDeployed(ctx, kubevirt.Version)).To(Succeed())
}
