// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// publicKey is that of RFC 8032's first test vector, and fingerprint what openssl makes of it; see wire.KeyFingerprint.
const (
	publicKey   = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"
	fingerprint = "SHA256:BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k"
)

var _ = Describe("A host", func() {
	It("is told from a copy of itself by a boot that comes back, until the one that is left boots again", func(ctx SpecContext) {
		h := makeHost(ctx)
		boots := func(ids ...string) { report(ctx, h, func() { h.Status.BootIDs = ids }) }
		twice := func() (*metav1.Condition, error) {
			err := server.Client.Get(ctx, client.ObjectKeyFromObject(h), h)
			return conditions.Get(h, infrav1.IdentityInUseTwiceCondition), err
		}
		boots("b", "a")
		Consistently(twice).Should(BeNil())
		boots("c", "b", "a")
		Consistently(twice).Should(BeNil())
		boots("b", "c", "b")
		Eventually(twice).Should(SatisfyAll(HaveField("Status", metav1.ConditionTrue), HaveField("Message", ContainSubstring("in the boots b and c"))))
		Eventually(eventsOf(ctx, h)).Should(ContainElement(HavePrefix(infrav1.EventIdentityInUseTwice + ": Two machines")))
		boots("d", "b", "c")
		Eventually(twice).Should(BeNil())
	})

	It("tells of a work directory that is lost with the next reboot, until it is another", func(ctx SpecContext) {
		h := makeHost(ctx)
		volatile := func() (*metav1.Condition, error) {
			err := server.Client.Get(ctx, client.ObjectKeyFromObject(h), h)
			return conditions.Get(h, infrav1.WorkDirVolatileCondition), err
		}
		report(ctx, h, func() { h.Status.Agent.VolatileWorkDir = "/var/lib/elemental/agent is on /var (tmpfs)" })
		Eventually(volatile).Should(SatisfyAll(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", infrav1.LostWithRebootReason),
			HaveField("Message", HaveSuffix("and is not upgraded: /var/lib/elemental/agent is on /var (tmpfs)"))))
		report(ctx, h, func() { h.Status.Agent.VolatileWorkDir = "" })
		Eventually(volatile).Should(BeNil())
	})
})
