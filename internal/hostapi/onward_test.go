// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// tooMany is what a failure is that says so.
var tooMany = MatchError(HavePrefix(fmt.Sprint(http.StatusTooManyRequests)))

// way of a new host from its registration until it runs.
var way = []infrav1.HostPhase{
	infrav1.HostPhaseRegistering, infrav1.HostPhaseFinalizingRegistration, infrav1.HostPhaseInstalling, infrav1.HostPhaseRunning,
}

var _ = Describe("A new host that moves on", func() {
	var (
		clock *clocktesting.FakePassiveClock
		quota *quota
	)
	BeforeEach(func() {
		clock = clocktesting.NewFakePassiveClock(time.Now())
		quota = newQuota(clock, nil)
	})
	// newcomer has as many labels, conditions and addresses as a server of a large fleet.
	newcomer := func(name string) *infrav1.ElementalHost {
		labels, conditions := map[string]string{}, []metav1.Condition{}
		for n := range 20 {
			labels[fmt.Sprintf("inventory.example.com/property-%d", n)] = strings.Repeat("v", 20)
		}
		for n := range 6 {
			conditions = append(conditions, metav1.Condition{Type: fmt.Sprintf("SomeCondition%d", n), Status: metav1.ConditionTrue, Reason: "SomeReason", Message: strings.Repeat("m", 60)})
		}
		return &infrav1.ElementalHost{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "prod", Name: name, Annotations: map[string]string{infrav1.RegistrationNameAnnotation: "edge"},
				Labels: labels,
			},
			Spec:   infrav1.ElementalHostSpec{PubKey: strings.Repeat("k", 113)},
			Status: infrav1.ElementalHostStatus{Conditions: conditions},
		}
	}
	// says stores a report, unless it is refused.
	says := func(host *infrav1.ElementalHost, phase infrav1.HostPhase, message string) error {
		status := host.Status
		status.Phase, status.Message = phase, message
		status.OS = infrav1.HostOS{ImageURI: "oci://registry.example.com/elemental/os:v1.2.3", BootID: "9f2c1f7e-8f3b-4a70-8d0b-7a6f0a0f7b9a"}
		status.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: "10.0.0.1"}, {Type: clusterv1.MachineHostName, Address: host.Name}}
		err := quota.admitReport(context.Background(), host, status)
		if err == nil {
			host.Status = status
		}
		return err
	}
	useUp := func() {
		GinkgoHelper()
		_, taken := quota.stored.take(types.NamespacedName{Namespace: "prod", Name: "edge"}, storeBurst)
		Expect(taken).To(BeTrue())
	}

	It("is not kept waiting by a fleet of 2,000", func() {
		fleet := []*infrav1.ElementalHost{}
		for n := range registerBurst {
			host := newcomer(fmt.Sprintf("host-%d", n))
			Expect(quota.admitHost(host)).To(Succeed())
			fleet = append(fleet, host)
		}
		for _, phase := range way {
			for _, host := range fleet {
				Expect(says(host, phase, strings.Repeat("m", 200))).To(Succeed(), "%s is %s", host.Name, phase)
			}
		}
	})

	It("has others wait until its registration has made up for it", func() {
		useUp()
		host := newcomer("host-1")
		Expect(says(host, infrav1.HostPhaseRunning, "")).To(Succeed())
		size, err := sizeOf(host)
		Expect(err).NotTo(HaveOccurred())
		next := newcomer("host-2")
		itself, err := sizeOf(next)
		Expect(err).NotTo(HaveOccurred())
		Expect(quota.admitHost(next)).To(tooMany)
		clock.SetTime(clock.Now().Add(time.Duration(float64(size+itself)/float64(storeRate)*float64(time.Second)) - time.Second))
		Expect(quota.admitHost(next)).To(tooMany)
		clock.SetTime(clock.Now().Add(2 * time.Second))
		Expect(quota.admitHost(next)).To(Succeed())
	})

	It("has others wait, too, until its registration has made up for what it says of an attempt", func() {
		useUp()
		host, next := newcomer("host-1"), newcomer("host-2")
		host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "a-1"}
		host.Status.Upgrade = &infrav1.HostUpgradeStatus{Attempt: "a-1", Phase: infrav1.HostUpgradeAcknowledged}
		status := host.Status
		status.Upgrade = &infrav1.HostUpgradeStatus{Attempt: "a-1", Phase: infrav1.HostUpgradeSucceeded}
		Expect(quota.admitReport(context.Background(), host, status)).To(Succeed())
		itself, err := sizeOf(next)
		Expect(err).NotTo(HaveOccurred())
		clock.SetTime(clock.Now().Add(time.Duration(float64(itself)/float64(storeRate)*float64(time.Second)) + time.Second))
		Expect(quota.admitHost(next)).To(tooMany)
	})

	It("waits when it says more on its way than a host has to, and when it goes back", func() {
		useUp()
		host := newcomer("host-1")
		Expect(says(host, infrav1.HostPhaseInstalling, "")).To(Succeed())
		Expect(says(host, infrav1.HostPhaseRegistering, "")).To(tooMany, "back")
		Expect(says(host, infrav1.HostPhaseInstalling, "else")).To(tooMany, "no further")
		Expect(says(host, infrav1.HostPhaseReconcilingOSVersion, "")).To(tooMany, "no phase of a new host")
		host.Annotations["large"] = strings.Repeat("x", onwardBurst/2)
		Expect(says(host, infrav1.HostPhaseRunning, "")).To(tooMany, "too much")
		Expect(says(newcomer("host-2"), infrav1.HostPhaseRunning, "")).To(Succeed(), "another host")
	})
})
