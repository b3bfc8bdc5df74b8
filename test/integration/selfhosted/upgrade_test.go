// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package selfhosted_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A cluster of one node that manages itself", Ordered, func() {
	var before counts
	BeforeEach(func() { before = count() })

	It("says what to expect, goes away with its host, and completes the upgrade when both are back", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		held := suite.HoldHost(theLab.Host(node.Node), infrav1.HostUpgradeApplying, infrav1.HostUpgradeRebooting)
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		attempt, err := cluster.AwaitMessage(ctx, wanted, "Reboot", "this management cluster runs on it and is away while it reboots")
		Expect(err).NotTo(HaveOccurred())
		Expect(attempt.Status.Preflight).To(ContainElement(HaveField("Message", ContainSubstring("all that runs on it is down until its host has rebooted"))))
		held.Release(string(infrav1.HostUpgradeApplying))
		Eventually(hostSays).WithContext(ctx).Should(And(
			HaveField("Phase", infrav1.HostUpgradeRebooting), HaveField("Message", ContainSubstring("reports as soon as it reaches it again")),
		), "the last report before the reboot")
		held.Release(string(infrav1.HostUpgradeRebooting))

		expectSucceeded(ctx, wanted)
		Expect(count().since(before)).To(Equal(counts{outages: 1, triggers: 1, boots: 1}))
	})

	It("does not take its host for lost where it was away itself for longer than a reboot may take", func(ctx SpecContext) {
		const timeout, boot = 20, 25
		Expect(cluster.PatchUpgradeOption(ctx, fmt.Sprintf(`{"timeouts":{"rebootSeconds":%d}}`, timeout))).To(Succeed())
		DeferCleanup(cluster.PatchUpgradeOption, `{"timeouts":null}`)
		wanted := suite.Push(ctx, cluster, image.OS{BootSeconds: boot})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())

		expectSucceeded(ctx, wanted)
		Expect(count().since(before)).To(Equal(counts{outages: 1, triggers: 1, boots: 1}))
	})

	It("completes an upgrade although its power is cut while the image is written", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		host := theLab.Host(node.Node)
		held := suite.HoldHost(host, infrav1.HostUpgradeApplying)
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		Eventually(held.Came(string(infrav1.HostUpgradeApplying))).Should(BeClosed())
		Expect(host.PowerOff(ctx)).To(Succeed())
		Expect(held.Close()).To(Succeed())
		Expect(theLab.Outages()).To(HaveLen(before.outages+1), "everything was killed with the host")
		Expect(host.PowerOn(ctx)).To(Succeed())

		expectSucceeded(ctx, wanted)
		Expect(count().since(before)).To(Equal(counts{outages: 2, triggers: 1, boots: 2}))
	})

	It("waits for its approval like any other node where it is paused", func(ctx SpecContext) {
		Expect(cluster.PatchUpgradeOption(ctx, `{"strategy":{"mode":"Manual"}}`)).To(Succeed())
		DeferCleanup(cluster.PatchUpgradeOption, `{"strategy":null}`)
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		attempt, err := cluster.AwaitMessage(ctx, wanted, "Approve", "paused")
		Expect(err).NotTo(HaveOccurred())
		Expect(count().since(before)).To(Equal(counts{}))
		_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalhostupgrade", attempt.Name, "--type", "merge",
			"--patch", `{"spec":{"approved":true}}`)
		Expect(err).NotTo(HaveOccurred())

		expectSucceeded(ctx, wanted)
		Expect(count().since(before)).To(Equal(counts{outages: 1, triggers: 1, boots: 1}))
	})

	It("falls back from a bad image without its API, reports it, and continues with the next good one", func(ctx SpecContext) {
		bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
		Expect(cluster.PatchControlPlaneImage(ctx, bad)).To(Succeed())
		Eventually(ends).WithContext(ctx).WithArguments(bad).Should(ConsistOf(infrav1.UpgradeRolledBack))
		Eventually(cluster.TemplateCondition).WithContext(ctx).WithArguments(scenario.ControlPlaneTemplate, infrav1.RolloutBlockedCondition).
			Should(HaveField("Reason", infrav1.AttemptNotSucceededReason))
		Eventually(cluster.Marks).WithContext(ctx).WithArguments(node).Should(Equal(scenario.Clean))
		Expect(count().since(before)).To(Equal(counts{outages: 1, triggers: 1, boots: 2}), "it was away in both boots")

		good := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, good)).To(Succeed())
		expectSucceeded(ctx, good)
		Expect(count().since(before)).To(Equal(counts{outages: 2, triggers: 2, boots: 3}))
	})
})

// counts of what an upgrade does to the node.
type counts struct{ outages, triggers, boots int }

func count() counts {
	GinkgoHelper()
	return counts{
		outages:  len(theLab.Outages()),
		triggers: len(audit.Triggered(suite.Audit(theLab.Management))[node.Node]),
		boots:    len(theLab.Host(node.Node).Boots()),
	}
}

func (c counts) since(then counts) counts {
	return counts{outages: c.outages - then.outages, triggers: c.triggers - then.triggers, boots: c.boots - then.boots}
}

// expectSucceeded waits until the node runs the image, and asserts that one attempt has brought it there, for which its API was no error.
func expectSucceeded(ctx context.Context, wanted image.Image) {
	GinkgoHelper()
	Eventually(ends).WithContext(ctx).WithArguments(wanted).Should(ConsistOf(infrav1.UpgradeSucceeded))
	Eventually(cluster.TemplateCondition).WithContext(ctx).WithArguments(scenario.ControlPlaneTemplate, infrav1.RolledOutCondition).
		Should(HaveField("Reason", infrav1.RolledOutReason))
	Eventually(cluster.Marks).WithContext(ctx).WithArguments(node).Should(Equal(scenario.Clean))
	Eventually(hostSays).WithContext(ctx).Should(BeNil(), "the host has forgotten the attempt")
	Expect(cluster.Identities(ctx)).To(Equal([]scenario.Identity{node}))
	outages := theLab.Outages()
	last := outages[len(outages)-1]
	Expect(last.Until).NotTo(BeZero())
	Expect(warnings(ctx, wanted)).To(BeEmpty(), "that the API was away was no error")
	Expect(assessedAt(ctx, wanted)).To(BeTemporally(">=", last.From.Truncate(time.Second)), "it is resumed at Assess, with the manager that came back")
}

// ends of the attempts for an image.
func ends(ctx context.Context, of image.Image) ([]infrav1.UpgradePhase, error) {
	attempts, err := attemptsFor(ctx, of)
	found := []infrav1.UpgradePhase{}
	for i := range attempts {
		found = append(found, attempts[i].Status.Phase)
	}
	return found, err
}

func attemptsFor(ctx context.Context, of image.Image) ([]infrav1.ElementalHostUpgrade, error) {
	attempts, err := cluster.Attempts(ctx)
	return slices.DeleteFunc(attempts, func(u infrav1.ElementalHostUpgrade) bool { return u.Spec.ImageURI != of.URI() }), err
}

// warnings are the events of type Warning about the attempts for an image.
func warnings(ctx context.Context, of image.Image) ([]string, error) {
	attempts, err := attemptsFor(ctx, of)
	if err != nil {
		return nil, err
	}
	list, found := &corev1.EventList{}, []string{}
	err = theLab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()))
	for i := range list.Items {
		event := &list.Items[i]
		isAbout := slices.ContainsFunc(attempts, func(u infrav1.ElementalHostUpgrade) bool { return u.UID == event.InvolvedObject.UID })
		if isAbout && event.Type == corev1.EventTypeWarning {
			found = append(found, event.Reason+": "+event.Message)
		}
	}
	return found, err
}

// assessedAt is when the attempt for an image came to Assess.
func assessedAt(ctx context.Context, of image.Image) time.Time {
	GinkgoHelper()
	attempts, err := attemptsFor(ctx, of)
	Expect(err).NotTo(HaveOccurred())
	steps := attempts[0].Status.Steps
	at := slices.IndexFunc(steps, func(s infrav1.UpgradeStepStatus) bool { return s.Name == "Assess" })
	Expect(at).To(BeNumerically(">=", 0), "%v", steps)
	return steps[at].StartTime.Time
}

// hostSays is what the host reports of its attempt.
func hostSays(ctx context.Context) (*infrav1.HostUpgradeStatus, error) {
	host := &infrav1.ElementalHost{}
	err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: node.Node}, host)
	return host.Status.Upgrade, err
}
