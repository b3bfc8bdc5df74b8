// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = Describe("An attempt that names objects of several nodes", func() {
	DescribeTable("asks nothing of the host, and waits",
		func(ctx SpecContext, mix func(*infrav1.ElementalHostUpgradeSpec, string), link string) {
			var first, second string
			w := madeUp(ctx, func(spec *infrav1.ElementalHostUpgradeSpec) {
				first, second = spec.HostName, spec.HostName+"-2"
				mix(spec, second)
			})
			w.addWorker(ctx, second)
			host := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Spec.HostName
			w.rest(ctx)
			Expect(w.status(ctx)).To(And(
				HaveField("Phase", infrav1.UpgradeProgressing),
				HaveField("Message", "no upgrade is requested for ElementalHost "+host+": "+strings.NewReplacer("FIRST", first, "SECOND", second).Replace(link)),
			))
			for _, name := range []string{first, second} {
				Expect(get(ctx, w, name, &infrav1.ElementalHost{}).Spec.Upgrade).To(BeNil())
			}
			Expect(get(ctx, w, clusterName, &infrav1.ElementalCluster{}).Status.UpgradeSlots).To(BeEmpty())
		},
		Entry("a Machine, and the host and ElementalMachine of another", func(s *infrav1.ElementalHostUpgradeSpec, other string) {
			s.HostName, s.ElementalMachineName = other, other
		}, "spec.infrastructureRef of Machine FIRST does not name ElementalMachine SECOND"),
		Entry("a host and its ElementalMachine, and the Machine of another", func(s *infrav1.ElementalHostUpgradeSpec, other string) {
			s.MachineName = other
		}, "spec.infrastructureRef of Machine SECOND does not name ElementalMachine FIRST"),
	)

	It("asks nothing of the host while the Machine belongs to another Cluster", func(ctx SpecContext) {
		const other = "other"
		w := madeUp(ctx, func(spec *infrav1.ElementalHostUpgradeSpec) { spec.ClusterName = other })
		Expect(live.Create(ctx, &clusterv1.Cluster{ObjectMeta: w.meta(other), Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: other},
		}})).To(Succeed())
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(Equal("no upgrade is requested for ElementalHost " + w.host + ": Machine " + w.host +
			" belongs to Cluster " + clusterName + ", and spec.clusterName is " + other))
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Spec.Upgrade).To(BeNil())
	})

	It("goes on once the link closes", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		serves := func(host string) {
			change(ctx, w, w.host, &infrav1.ElementalMachine{}, func(m *infrav1.ElementalMachine) {
				m.Spec.HostRef = &infrav1.LocalReference{Name: host}
			})
		}
		serves("other")
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(HaveSuffix("ElementalMachine " + w.host + " does not name ElementalHost " + w.host))
		serves(w.host)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})
})

var _ = Describe("An attempt whose objects are not one node any more is not triggered, and goes on where it was:", func() {
	atEachHold(func(ctx context.Context, h hold) {
		w := held(ctx, h)
		isTriggered := len(w.faults.triggers) > 0
		owners := get(ctx, w, w.host, &infrav1.ElementalMachine{}).OwnerReferences
		change(ctx, w, w.host, &infrav1.ElementalMachine{}, func(m *infrav1.ElementalMachine) { m.OwnerReferences = nil })
		release(ctx, w, h)
		if isTriggered {
			Expect(w.marks(ctx)).To(Equal(clean))
			return
		}
		Expect(w.faults.triggers).To(BeEmpty())
		Expect(w.agent.applied).To(BeEmpty())
		change(ctx, w, w.host, &infrav1.ElementalMachine{}, func(m *infrav1.ElementalMachine) { m.OwnerReferences = owners })
		h.lift(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})
})
