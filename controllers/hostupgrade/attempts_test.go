// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("rivalOf", func(expected string, changes ...func(host *infrav1.ElementalHost, others []infrav1.ElementalHostUpgrade)) {
	o := typical()
	others := []infrav1.ElementalHostUpgrade{
		{ObjectMeta: metav1.ObjectMeta{Name: "t", UID: "11111111"}}, {ObjectMeta: metav1.ObjectMeta{Name: "z", UID: "22222222"}},
	}
	for _, change := range changes {
		change(o.host, others)
	}
	found := rivalOf(o.upgrade, others, o.host)
	if expected == "" {
		Expect(found).To(BeNil())
		return
	}
	Expect(found.Name).To(Equal(expected))
},
	Entry("the older", "t"),
	Entry("the older has ended", "", ended("t")),
	Entry("the host is at this one already", "", askedFor("u/12345678")),
	Entry("the host is at the younger", "z", askedFor("z/22222222")),
	Entry("the host has not been told that the younger has ended", "t", askedFor("z/22222222"), ended("z")),
)

func ended(name string) func(*infrav1.ElementalHost, []infrav1.ElementalHostUpgrade) {
	return func(_ *infrav1.ElementalHost, others []infrav1.ElementalHostUpgrade) {
		for i := range others {
			if others[i].Name == name {
				others[i].Status.Phase = infrav1.UpgradeFailed
			}
		}
	}
}

func askedFor(attempt string) func(*infrav1.ElementalHost, []infrav1.ElementalHostUpgrade) {
	return func(host *infrav1.ElementalHost, _ []infrav1.ElementalHostUpgrade) {
		host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: attempt}
	}
}
