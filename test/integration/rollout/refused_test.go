// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// That it is refused by default is tested in package references.
var _ = Describe("A change that cannot be made in place", func() {
	// Cluster API propagates a Machine's nodeDrainTimeout and the like without a rollout; but not a
	// change of the bootstrap configuration.
	changeBootstrap := func(ctx context.Context, cluster *scenario.Cluster) {
		GinkgoHelper()
		Expect(cluster.ApplyManifest(ctx, "bootstrap-changed.yaml.tmpl")).To(Succeed())
		patch := `{"spec":{"template":{"spec":{"bootstrap":{"configRef":{"name":"workers-changed"}}}}}}`
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "machinedeployment", scenario.Deployment, "--type", "merge", "--patch", patch)
		Expect(err).NotTo(HaveOccurred())
	}

	It("replaces the Machine, and resets its host, where that is allowed", func(ctx SpecContext) {
		cluster := suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{}),
			scenario.Options{Workers: 1, Spare: 1, Replacement: string(infrav1.ReplacementAllow)})
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		changeBootstrap(ctx, cluster)

		Eventually(func(ctx context.Context) error {
			machines, err := cluster.Machines(ctx)
			switch {
			case err != nil:
				return err
			case len(machines) != 1 || string(machines[0].UID) == before[0].MachineUID:
				return fmt.Errorf("%d Machines, or still the former one", len(machines))
			case machines[0].Status.Phase != "Running":
				return fmt.Errorf("the new Machine is %s", machines[0].Status.Phase)
			}
			return nil
		}, 2*specs.Patience).WithContext(ctx).Should(Succeed())
	})
})
