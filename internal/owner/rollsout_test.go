// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

var _ = DescribeTable("A control plane replaces its Machines after a moment", func(spec map[string]any, expected string) {
	of := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	of.SetKind("KThreesControlPlane")
	of.SetName("cp")
	created := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", CreationTimestamp: metav1.Date(2050, 1, 1, 0, 0, 0, 0, time.UTC)}}
	created.Status.CertificatesExpiryDate = metav1.Date(2100, 1, 31, 0, 0, 0, 0, time.UTC)
	Expect(owner.ControlPlaneRollsOut(of, created, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))).To(Equal(expected))
},
	Entry("that has come", map[string]any{"rollout": map[string]any{"after": "2099-01-01T00:00:00Z"}},
		"KThreesControlPlane cp replaces its Machines after 2099-01-01T00:00:00Z, by its spec.rollout.after"),
	Entry("the same by v1beta1", map[string]any{"rolloutAfter": "2099-01-01T00:00:00Z"},
		"KThreesControlPlane cp replaces its Machines after 2099-01-01T00:00:00Z, by its spec.rolloutAfter"),
	Entry("that comes later", map[string]any{"rolloutAfter": "2100-01-01T00:00:00Z"}, ""),
	Entry("that is some days before its certificates expire", map[string]any{"rollout": map[string]any{"before": map[string]any{"certificatesExpiryDays": int64(31)}}},
		"KThreesControlPlane cp replaces Machine m, whose certificates expire at 2100-01-31T00:00:00Z, by its spec.rollout.before.certificatesExpiryDays"),
	Entry("the same by v1beta1", map[string]any{"rolloutBefore": map[string]any{"certificatesExpiryDays": int64(31)}},
		"KThreesControlPlane cp replaces Machine m, whose certificates expire at 2100-01-31T00:00:00Z, by its spec.rolloutBefore.certificatesExpiryDays"),
	Entry("that is fewer days before", map[string]any{"rolloutBefore": map[string]any{"certificatesExpiryDays": int64(30)}}, ""),
	Entry("before which this one was not there", map[string]any{"rolloutAfter": "2049-01-01T00:00:00Z"}, ""),
)

var _ = DescribeTable("A control plane rolls out", func(status map[string]any, upToDate metav1.ConditionStatus, expected string) {
	of := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	of.SetKind("KThreesControlPlane")
	of.SetName("cp")
	of.SetGeneration(3)
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	if upToDate != "" {
		set(machine, clusterv1.MachineUpToDateCondition, upToDate)
	}
	Expect(owner.ControlPlaneRollsOut(of, machine, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))).To(Equal(expected))
},
	Entry("nothing", map[string]any{"observedGeneration": int64(3), "replicas": int64(3), "updatedReplicas": int64(3)}, metav1.ConditionTrue, ""),
	Entry("nothing that it reports", map[string]any{}, metav1.ConditionStatus(""), ""),
	Entry("what it has not acted on, of which it is not known what it does", map[string]any{"observedGeneration": int64(2)}, metav1.ConditionTrue, ""),
	Entry("to fewer Machines than there are, by contract v1beta1", map[string]any{"replicas": int64(3), "updatedReplicas": int64(1)}, metav1.ConditionStatus(""),
		"KThreesControlPlane cp rolls out another change: status.updatedReplicas is 1 of 3"),
	Entry("the same by v1beta2", map[string]any{"replicas": int64(3), "upToDateReplicas": int64(0)}, metav1.ConditionStatus(""),
		"KThreesControlPlane cp rolls out another change: status.upToDateReplicas is 0 of 3"),
	Entry("to this Machine", map[string]any{}, metav1.ConditionFalse, "the owner of Machine m rolls out another change, as the Machine's condition UpToDate is False: "),
)

var _ = It("RollsOut reports a change that a control plane has not acted on", func() {
	kcp := ownertest.KubeadmControlPlane(plane.NewNamespace(ctx), "cp", "c", "t")
	plane.Create(ctx, kcp)
	machine := ownertest.ControlPlaneMachine(kcp, "m")
	kcp.Status.ObservedGeneration = kcp.Generation + 1
	Expect(c.Status().Update(ctx, kcp)).To(Succeed())
	Expect(owner.RollsOut(ctx, c, machine, time.Now())).To(Equal("KubeadmControlPlane cp was changed and has not been acted on yet"))
	kcp.Status.ObservedGeneration = kcp.Generation
	Expect(c.Status().Update(ctx, kcp)).To(Succeed())
	Expect(owner.RollsOut(ctx, c, machine, time.Now())).To(BeEmpty())
})
