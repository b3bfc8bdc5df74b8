// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

var _ = DescribeTable("waitForControlPlane", func(expected string, changes ...func(own *clusterv1.Machine, other *clusterv1.Machine)) {
	newMachine := func(name string) clusterv1.Machine {
		return clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: clusterv1.MachineStatus{
			Conditions: []metav1.Condition{{Type: "EtcdMemberHealthy", Status: metav1.ConditionTrue}},
		}}
	}
	all := []clusterv1.Machine{newMachine("m"), newMachine("other")}
	for _, change := range changes {
		change(&all[0], &all[1])
	}
	Expect(owner.WaitForControlPlane(&all[0], all)).To(Equal(expected))
},
	Entry("all healthy", ""),
	Entry("of another kind of control plane", "", func(own, other *clusterv1.Machine) {
		own.Status, other.Status = clusterv1.MachineStatus{}, clusterv1.MachineStatus{}
	}),
	Entry("unhealthy itself", "waiting for condition EtcdMemberHealthy of control plane Machine m",
		func(own, _ *clusterv1.Machine) { own.Status.Conditions[0].Status = metav1.ConditionFalse }),
	Entry("one that KubeadmControlPlane would delete next",
		"waiting for condition EtcdMemberHealthy of control plane Machine other, which would be deleted otherwise: repair its node",
		func(_, other *clusterv1.Machine) { other.Status.Conditions[0].Status = metav1.ConditionUnknown }),
	Entry("one that is being deleted already", "", func(_, other *clusterv1.Machine) {
		other.Status.Conditions[0].Status = metav1.ConditionFalse
		other.DeletionTimestamp = &metav1.Time{Time: other.CreationTimestamp.Add(1)}
	}),
)
