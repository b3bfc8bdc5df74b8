// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
)

var _ = Describe("RKE2ControlPlanes", func() {
	DescribeTable("replace their Machines", func(change func(*rke2.ControlPlaneSpec), expected string) {
		controlPlane := ownertest.RKE2ControlPlane("ns", "cp", "c", "t")
		change(&controlPlane.Spec)
		message, err := ownersAt(0).ReplacesInstead(ctx, owner.ForRKE2ControlPlane(controlPlane))
		Expect(err).NotTo(HaveOccurred())
		if expected == "" {
			Expect(message).To(BeEmpty())
			return
		}
		Expect(message).To(ContainSubstring(expected))
	},
		Entry("not with maxSurge 0", func(*rke2.ControlPlaneSpec) {}, ""),
		Entry("with fewer than three", func(s *rke2.ControlPlaneSpec) { s.Replicas = nil }, "has spec.replicas 1 and cannot be updated in place by Cluster API, because CAPRKE2 deletes a Machine"),
		Entry("with a surge", func(s *rke2.ControlPlaneSpec) { s.RolloutStrategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(1)) },
			"has spec.rolloutStrategy.rollingUpdate.maxSurge 1: set maxSurge 0"),
		Entry("with the default surge", func(s *rke2.ControlPlaneSpec) { s.RolloutStrategy = nil }, "maxSurge 1 by default: set maxSurge 0"),
		Entry("by another strategy", func(s *rke2.ControlPlaneSpec) { s.RolloutStrategy.Type = "OnDelete" }, "has spec.rolloutStrategy.type OnDelete: set RollingUpdate"),
	)

	It("are found by their template, and their Machines by their labels", func() {
		namespace := plane.NewNamespace(ctx)
		controlPlane := ownertest.RKE2ControlPlane(namespace, "cp", "c", "t")
		plane.Create(ctx, controlPlane)
		machine := ownertest.RKE2Machine(controlPlane, "m")
		plane.Create(ctx, machine)
		owners, err := ownersAt(0).List(ctx, namespace, "t")
		Expect(err).NotTo(HaveOccurred())
		Expect(owners).To(HaveExactElements(WithTransform(owner.Describe, Equal("RKE2ControlPlane cp"))))
		Expect(ownersAt(0).Machines(ctx, owners[0])).To(HaveExactElements(HaveField("Name", "m")))
		Expect(owner.Made(owners[0], machine.Labels)).To(BeTrue())
	})

	It("have not judged a Machine before both conditions are there, and find it unhealthy by either", func() {
		controlPlane := ownertest.RKE2ControlPlane("ns", "cp", "c", "t")
		machine := ownertest.RKE2Machine(controlPlane, "m")
		of, isOne := owner.ForControlPlane(controlPlane)
		Expect(isOne).To(BeTrue())
		Expect(owner.Unjudged(of, machine)).To(Equal(rke2.AgentHealthyCondition))
		set(machine, rke2.AgentHealthyCondition, metav1.ConditionTrue)
		Expect(owner.Unjudged(of, machine)).To(Equal(rke2.EtcdMemberHealthyCondition))
		set(machine, rke2.EtcdMemberHealthyCondition, metav1.ConditionTrue)
		Expect(owner.Unjudged(of, machine)).To(BeEmpty())
		Expect(owner.Unhealthy(machine)).To(BeEmpty())
		set(machine, rke2.AgentHealthyCondition, metav1.ConditionUnknown)
		Expect(owner.Unhealthy(machine)).To(Equal([]string{rke2.AgentHealthyCondition}))
	})
})

func set(machine *clusterv1.Machine, condition string, status metav1.ConditionStatus) {
	conditions.Set(machine, metav1.Condition{Type: condition, Status: status, Reason: "Test"})
}
