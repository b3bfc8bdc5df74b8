// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("ElementalHost", func() {
	make := func(ctx SpecContext, attempt string, status *infrav1.HostUpgradeStatus) *infrav1.ElementalHost {
		host := &infrav1.ElementalHost{ObjectMeta: meta("h-"), Spec: infrav1.ElementalHostSpec{PubKey: "key"}}
		if attempt != "" {
			host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: attempt}
		}
		Expect(server.Client.Create(ctx, host)).To(Succeed())
		host.Status.Upgrade = status
		Expect(server.Client.Status().Update(ctx, host)).To(Succeed())
		host.Labels = map[string]string{}
		return host
	}
	ended := &infrav1.HostUpgradeStatus{Attempt: "a1", Phase: infrav1.HostUpgradeRolledBack}

	DescribeTable("is triggered by a person",
		func(ctx SpecContext, attempt string, status *infrav1.HostUpgradeStatus, label, value, refusal string) {
			host := make(ctx, attempt, status)
			host.Labels[label] = value
			expect(person.Update(ctx, host), refusal)
		},
		Entry("while there is no attempt", "", nil, infrav1.InPlaceUpgradeLabel, "pending", ""),
		Entry("after an attempt", "a1", ended, infrav1.InPlaceUpgradeLabel, "pending", ""),
		Entry("not while an attempt is active", "a1", nil, infrav1.InPlaceUpgradeLabel, "pending", "attempt a1 is active"),
		Entry("nor in the predecessor's spelling", "a1", nil, infrav1.InPlaceUpdateLabel, "pending", "attempt a1 is active"),
		Entry("nor while a new attempt is active after another", "a2", ended, infrav1.InPlaceUpgradeLabel, "pending", "attempt a2 is active"),
		Entry("but may be labelled otherwise", "a1", nil, "rack", "a", ""),
	)

	It("is triggered by the manager in the middle of an attempt", func(ctx SpecContext) {
		host := make(ctx, "a1", nil)
		host.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending
		Expect(server.Client.Update(ctx, host)).To(Succeed())

		By("a person who changes something else then")
		host.Labels["rack"] = "a"
		Expect(person.Update(ctx, host)).To(Succeed())
	})

	DescribeTable("is given an OS by a person",
		func(ctx SpecContext, osVersion, refusal string) {
			host := make(ctx, "", nil)
			host.Spec.OSVersionManagement = specs.OS(osVersion)
			expect(person.Update(ctx, host), refusal)
		},
		Entry("with an image", `{"imageUri":"oci://os:v2"}`, ""),
		Entry("with a ManagedOSVersion", `{"managedOSVersionName":"v2"}`, ""),
		Entry("not with an image that is none", `{"imageUri":"oci://a b"}`, "spec.osVersionManagement.osVersion.imageUri"),
		Entry("not with an image that is in no registry", `{"imageUri":"http://os:v1"}`, `image "http://os:v1" is not in a registry: use oci://`),
		Entry("not with a field of another type", `{"imageUri":5}`, "spec.osVersionManagement.osVersion.imageUri: Invalid value"),
	)

	It("is given any OS by the manager, and may be changed otherwise then", func(ctx SpecContext) {
		host := make(ctx, "", nil)
		host.Spec.OSVersionManagement = osversion.OfImage("oci://a b")
		Expect(server.Client.Update(ctx, host)).To(Succeed())
		host.Labels = map[string]string{"rack": "a"}
		Expect(person.Update(ctx, host)).To(Succeed())
	})

	It("that serves a machine warns a person who changes its OS that this does not last", func(ctx SpecContext) {
		host := make(ctx, "", nil)
		host.Spec.MachineRef = &infrav1.LocalReference{Name: "m1"}
		Expect(server.Client.Update(ctx, host)).To(Succeed())
		person.Warnings = nil
		host.Labels = map[string]string{"rack": "a"}
		Expect(person.Update(ctx, host)).To(Succeed())
		Expect(person.Warnings).To(BeEmpty())
		host.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2")
		Expect(person.Update(ctx, host)).To(Succeed())
		Expect(person.Warnings).To(ConsistOf("spec.osVersionManagement is replaced by that of ElementalMachine m1, which the host serves: change it there"))
	})

	DescribeTable("keeps its key",
		func(ctx SpecContext, key string, refused bool) {
			host := make(ctx, "", nil)
			host.Spec.PubKey = key
			err := person.Update(ctx, host)
			if !refused {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring("pubKey is what the host is known by")))
		},
		Entry("against another", "other", true),
		Entry("against none", "", true),
		Entry("as it is", "key", false),
	)
})
