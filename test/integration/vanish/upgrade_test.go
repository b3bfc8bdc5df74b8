// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vanish_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// upgrade is the upgrade that a spec disturbs.
type upgrade struct {
	*scenario.Cluster
	wanted image.Image
	began  time.Time
	// attempt that has reached the stage of the spec, its host, and how often that had booted before.
	attempt *infrav1.ElementalHostUpgrade
	host    *lab.Host
	boots   int
	held    []*policyv1.PodDisruptionBudget
	// goOn releases the host from the phase that it is blocked in, if any.
	goOn func()
}

// stage is how far an upgrade has progressed when it is disturbed.
type stage struct {
	// held is set if the node has a Pod that must not be evicted, phase is the phase in which the host is
	// blocked.
	held  bool
	phase infrav1.HostUpgradePhase
	// os has the properties of the image.
	os    image.OS
	is    func(*infrav1.ElementalHostUpgrade, *infrav1.ElementalHost) bool
	after string
}

var (
	draining = stage{held: true, after: "Drain", is: func(u *infrav1.ElementalHostUpgrade, _ *infrav1.ElementalHost) bool {
		return u.Status.Step == "Drain"
	}}
	applying  = atHost(infrav1.HostUpgradeApplying, image.OS{})
	rebooting = atHost(infrav1.HostUpgradeRebooting, image.OS{})
)

// atHost is when a host reports the phase, in which it is blocked.
func atHost(phase infrav1.HostUpgradePhase, os image.OS) stage {
	return stage{os: os, phase: phase, after: string(phase), is: func(u *infrav1.ElementalHostUpgrade, host *infrav1.ElementalHost) bool {
		said := host.Status.Upgrade
		return said != nil && said.Attempt == u.Status.Attempt && said.Phase == phase
	}}
}

// start requests a new image, and returns when the upgrade of a node has reached the stage.
func start(ctx context.Context, cluster *scenario.Cluster, at stage) *upgrade {
	GinkgoHelper()
	u := &upgrade{Cluster: cluster, wanted: suite.Push(ctx, cluster, at.os), began: time.Now()}
	if at.held {
		u.holdNodes(ctx)
	}
	held := suite.HeldHosts{}
	if at.phase != "" {
		held = suite.HoldHosts(theLab, at.phase)
	}
	u.goOn = func() { held.Release(at.phase) }
	boots := map[string]int{}
	for _, host := range theLab.Hosts() {
		boots[host.Name()] = len(host.Boots())
	}
	Expect(cluster.PatchImage(ctx, u.wanted)).To(Succeed())
	Eventually(func(ctx context.Context) (*infrav1.ElementalHostUpgrade, error) {
		err := u.find(ctx, at)
		return u.attempt, err
	}).WithContext(ctx).ShouldNot(BeNil(), "an upgrade comes to %s", at.after)
	u.host = theLab.Host(u.attempt.Spec.HostName)
	u.boots = boots[u.host.Name()]
	if at.phase != "" {
		Eventually(held[u.host.Name()].Came(string(at.phase))).Should(BeClosed(), "the host stands still")
	}
	return u
}

func (u *upgrade) find(ctx context.Context, at stage) error {
	attempts, err := u.Attempts(ctx)
	if err != nil {
		return err
	}
	for i := range attempts {
		host := &infrav1.ElementalHost{}
		err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: u.Namespace(), Name: attempts[i].Spec.HostName}, host)
		if err != nil {
			return err
		}
		if attempts[i].Spec.ImageURI == u.wanted.URI() && at.is(&attempts[i], host) {
			u.attempt = &attempts[i]
		}
	}
	return nil
}

// holdNodes gives each node a Pod that is not evicted until release.
func (u *upgrade) holdNodes(ctx context.Context) {
	GinkgoHelper()
	identities, err := u.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, identity := range identities {
		meta := metav1.ObjectMeta{Namespace: "default", Name: "held-" + identity.Node, Labels: map[string]string{"held": identity.Node}}
		pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
			NodeName: identity.Node, Containers: []corev1.Container{{Name: "held", Image: "registry.example.com/held:1"}},
		}}
		Expect(u.WorkloadKube().Create(ctx, pod)).To(Succeed())
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
		}}
		Expect(u.WorkloadKube().Create(ctx, budget)).To(Succeed())
		u.held = append(u.held, budget)
		Eventually(func(ctx context.Context) (int32, error) {
			err := u.WorkloadKube().Get(ctx, client.ObjectKeyFromObject(budget), budget)
			return budget.Status.CurrentHealthy, err
		}).WithContext(ctx).Should(BeEquivalentTo(1), "the budget counts")
	}
	DeferCleanup(u.removeHeld)
}

// release allows the Pods to be evicted by deleting their PodDisruptionBudgets.
func (u *upgrade) release(ctx context.Context) {
	GinkgoHelper()
	for _, budget := range u.held {
		Expect(client.IgnoreNotFound(u.WorkloadKube().Delete(ctx, budget))).To(Succeed())
	}
}

// removeHeld deletes the Pods that were not evicted.
func (u *upgrade) removeHeld(ctx context.Context) {
	GinkgoHelper()
	u.release(ctx)
	Expect(u.WorkloadKube().DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("default"), client.HasLabels{"held"},
		client.GracePeriodSeconds(0))).To(Succeed())
}

// now is the current attempt; nil if it was deleted.
func (u *upgrade) now(ctx context.Context) (*infrav1.ElementalHostUpgrade, error) {
	attempt := &infrav1.ElementalHostUpgrade{}
	err := theLab.Kube.Get(ctx, client.ObjectKeyFromObject(u.attempt), attempt)
	if client.IgnoreNotFound(err) == nil && err != nil || attempt.UID != u.attempt.UID {
		return nil, nil
	}
	return attempt, err
}

func (u *upgrade) kubectl(ctx context.Context, args ...string) {
	GinkgoHelper()
	_, err := u.Kubectl(ctx, append([]string{"--namespace", u.Namespace()}, args...)...)
	Expect(err).NotTo(HaveOccurred())
}

// reboots of the host since the upgrade began.
func (u *upgrade) reboots() int { return len(u.host.Boots()) - u.boots }

// writes of an image to the host since the upgrade began.
func (u *upgrade) writes() int {
	GinkgoHelper()
	finished, unfinished := suite.Writes(u.host, u.began)
	return finished + unfinished
}

// expectUntouched asserts that no image was written and the host was not rebooted.
func (u *upgrade) expectUntouched() {
	GinkgoHelper()
	Expect(u.writes()).To(BeZero(), "elemental upgrade was not called")
	Expect(u.reboots()).To(BeZero(), "the host was not rebooted")
}

// expectSucceeded waits until all workers run the image, which was written and booted once on the host of
// the attempt, and no traces are left.
func (u *upgrade) expectSucceeded(ctx context.Context) {
	GinkgoHelper()
	Expect(u.AwaitImage(ctx, u.wanted)).To(Succeed())
	expectNoTraces(ctx, u.Cluster)
	Expect(u.writes()).To(Equal(1), "elemental upgrade was called once")
	Expect(u.reboots()).To(Equal(1), "the host was rebooted once")
}

// theMachine is the cluster's only Machine.
func theMachine(ctx context.Context, cluster *scenario.Cluster) *clusterv1.Machine {
	GinkgoHelper()
	machines, err := cluster.Machines(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(machines).To(HaveLen(1))
	return &machines[0]
}

// blockedSays is what keeps the rollout of the template from continuing.
func (u *upgrade) blockedSays(ctx context.Context) (string, error) {
	said, err := u.TemplateCondition(ctx, scenario.Template, infrav1.RolloutBlockedCondition)
	return said.Message, err
}
