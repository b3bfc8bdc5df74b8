// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = Describe("The checks of a host", func() {
	It("stay with the attempt once the host has forgotten it", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.agent.fallsBack = true
		code := int32(3)
		w.agent.checks = []infrav1.HostCheck{
			{Name: "kubelet", Verdict: infrav1.HostCheckPassed, Since: metav1.Unix(1, 0)},
			{Name: "required.d/10-disk", Verdict: infrav1.HostCheckFailed, Since: metav1.Unix(2, 0), ExitCode: &code, Output: "full"},
		}
		w.drive(ctx, nil)
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Status.Upgrade).To(BeNil(), "it was withdrawn")
		found := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Status
		Expect(found).To(And(HaveField("Phase", infrav1.UpgradeRolledBack), HaveField("Checks", w.agent.checks)))
	})

	It("of another attempt are not this one's", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		host := get(ctx, w, w.host, &infrav1.ElementalHost{})
		host.Status.Upgrade = &infrav1.HostUpgradeStatus{
			Attempt: "other", Phase: infrav1.HostUpgradeFailed, Checks: []infrav1.HostCheck{{Name: "kubelet", Verdict: infrav1.HostCheckFailed}},
		}
		Expect(live.Status().Update(ctx, host)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Status.Checks).To(BeEmpty())
	})
})
