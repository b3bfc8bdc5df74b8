// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// The preconditions are tested in detail by package machinetemplate, which shows the problems on templates.
var _ = Describe("Prove", func() {
	It("returns all that is in the way of all owners at once, each with a reason and a remedy", func() {
		owners := &owner.Owners{Client: c, Live: c, Clock: clock.RealClock{}}
		prover := &inplace.Prover{Live: c, Owners: owners}
		md := ownertest.MachineDeployment("default", "md", "c", "t", 1)
		md.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = nil
		kcp := ownertest.KubeadmControlPlane("default", "cp", "c", "t")
		kcp.Spec.Replicas = ptr.To[int32](1)

		problems, err := prover.Prove(ctx, "default", owner.ForMachineDeployment(md), owner.ForKubeadmControlPlane(kcp))
		Expect(err).NotTo(HaveOccurred())
		Expect(problems).To(HaveExactElements(
			HaveField("Reason", infrav1.ExtensionNotReadyReason),
			And(HaveField("Reason", infrav1.FeatureGatesUnknownReason), HaveField("Message", ContainSubstring("=cluster-api:"))),
			And(HaveField("Reason", infrav1.FeatureGatesUnknownReason), HaveField("Message", ContainSubstring("=control-plane-kubeadm:"))),
			HaveField("Reason", infrav1.UnsupportedStrategyReason),
			HaveField("Reason", infrav1.UnsupportedControlPlaneReason),
		))
		Expect(inplace.Messages(problems)).To(MatchRegexp("--runtime-extension elemental.*; .*maxSurge 1 by default.*; .*has spec.replicas 1"))
	})
})
