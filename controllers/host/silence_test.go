// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = It("A host is not ready that has not answered the request for an upgrade for two minutes, until it does", func(ctx SpecContext) {
	h := makeHost(ctx)
	condition := func(of string) func() (*metav1.Condition, error) {
		return func() (*metav1.Condition, error) {
			err := server.Client.Get(ctx, client.ObjectKeyFromObject(h), h)
			return conditions.Get(h, of), err
		}
	}
	silent := condition(infrav1.AgentNotRespondingCondition)
	// aMinuteLater is how the host is another minute later; the controller may have put off its look at a change.
	aMinuteLater := func() (*metav1.Condition, error) {
		clock.SetTime(clock.Now().Add(time.Minute))
		apiserver.Change(ctx, server.Client, h, func() { h.Labels["touched"] = clock.Now().Format("20060102T150405") })
		return silent()
	}
	apiserver.Change(ctx, server.Client, h, func() {
		h.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "first/1", OSVersionManagement: infrav1.OSVersionManagement{}}
	})
	Consistently(silent).Should(BeNil())
	Eventually(aMinuteLater).WithPolling(time.Second).Should(SatisfyAll(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", infrav1.RequestNotAnsweredReason),
		HaveField("Message", HavePrefix("The host has not answered the request for upgrade first/1 for 2 minutes"))))
	Eventually(condition("Ready")).Should(HaveField("Status", metav1.ConditionFalse))

	By("another request, which it has as long for")
	apiserver.Change(ctx, server.Client, h, func() { h.Spec.Upgrade.Attempt = "second/1" })
	Eventually(silent).Should(BeNil())
	Eventually(aMinuteLater).WithPolling(time.Second).Should(HaveField("Message", ContainSubstring("second/1")))

	By("its answer")
	apiserver.ChangeStatus(ctx, server.Client, h, func() {
		h.Status.Upgrade = &infrav1.HostUpgradeStatus{Attempt: "second/1", Phase: infrav1.HostUpgradeAcknowledged}
	})
	Eventually(silent).Should(BeNil())
})
