// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package several_test

import (
	"context"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// point is how far the attempt that holds a slot has progressed. It never reverts, so that polling does not miss it.
type point struct {
	name    string
	reached func(attempt *infrav1.ElementalHostUpgrade, host *infrav1.ElementalHost) bool
}

var (
	admitted = point{"has a slot", func(*infrav1.ElementalHostUpgrade, *infrav1.ElementalHost) bool { return true }}
	told     = point{"is told to go", func(_ *infrav1.ElementalHostUpgrade, host *infrav1.ElementalHost) bool {
		return host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending || wentFurther(host)
	}}
	writes   = point{"writes the image", func(_ *infrav1.ElementalHostUpgrade, host *infrav1.ElementalHost) bool { return wentFurther(host) }}
	wentDown = point{"has booted", func(_ *infrav1.ElementalHostUpgrade, host *infrav1.ElementalHost) bool {
		return host.Status.Upgrade.FromBootID != "" && host.Status.OS.BootID != host.Status.Upgrade.FromBootID
	}}
)

func wentFurther(host *infrav1.ElementalHost) bool {
	switch host.Status.Upgrade.Phase {
	case infrav1.HostUpgradeApplying, infrav1.HostUpgradeRebooting, infrav1.HostUpgradeAssessing, infrav1.HostUpgradeSucceeded:
		return true
	}
	return false
}

// interruption is what happens to the leader when the n-th node, from 1, that gets a slot has reached a point.
type interruption struct {
	node int
	at   point
}

var _ = Describe("A leader change in the middle of a rollout", func() {
	var r *rollout

	// upgrade patches pools, whose nodes are upgraded one at a time.
	upgrade := func(ctx context.Context, pools ...string) {
		GinkgoHelper()
		allow(ctx, cluster, 1)
		desired := map[string]image.Image{}
		for _, pool := range pools {
			desired[pool] = suite.Push(ctx, cluster, image.OS{UpgradeSeconds: writing})
		}
		r = begin(ctx, cluster, desired)
	}

	// expectUndisturbed asserts what a leader change must not affect.
	expectUndisturbed := func(ctx context.Context) {
		GinkgoHelper()
		r.expectDone(ctx)
		r.expectOnce(ctx, slices.Collect(maps.Keys(r.desired))...)
		cordoned, triggered := r.atOnce(r.nodes()...)
		Expect(cordoned).To(Equal(1), "nodes cordoned at a time")
		Expect(triggered).To(Equal(1), "hosts told to go at a time")
	}

	It("after a kill leaves nothing undone, and nothing is done twice", func(ctx SpecContext) {
		upgrade(ctx, east, west)
		for _, when := range []interruption{{1, admitted}, {2, told}, {3, writes}, {4, wentDown}} {
			leader := r.awaitLeader(ctx, when)
			leader.Process.Kill()
			awaitOther(ctx, leader)
			restart(ctx, leader)
		}
		expectUndisturbed(ctx)
	})

	It("after a graceful stop does not wait for the Lease to expire", func(ctx SpecContext) {
		upgrade(ctx, east)
		for _, when := range []interruption{{1, told}, {2, admitted}} {
			leader := r.awaitLeader(ctx, when)
			held := holder(ctx)
			leader.Process.Stop()
			Expect(leader.Process.Result()).NotTo(HaveOccurred(), "it ends by itself, in time and without complaint")
			Expect(holder(ctx)).NotTo(Equal(held), "nobody has to wait for the lease to run out")
			awaitOther(ctx, leader)
			restart(ctx, leader)
		}
		expectUndisturbed(ctx)
	})

	It("after a hang makes the former leader exit when it resumes, without harm", func(ctx SpecContext) {
		upgrade(ctx, east, west)
		for _, when := range []interruption{{1, admitted}, {3, told}} {
			leader := r.awaitLeader(ctx, when)
			leader.Process.Freeze()
			theLab.Exclude(leader)
			awaitOther(ctx, leader)
			r.awaitPoint(ctx, interruption{when.node + 1, admitted})
			leader.Process.Thaw()
			Eventually(leader.Process.Exited(), patience).Should(BeClosed(), "a former leader does not go on")
			restart(ctx, leader)
			theLab.Include(leader)
		}
		expectUndisturbed(ctx)
	})

	It("does not affect what every replica serves", func(ctx SpecContext) {
		allow(ctx, cluster, 1)
		r = begin(ctx, cluster, map[string]image.Image{})
		rotated := suite.Push(ctx, cluster, image.OS{UpgradeSeconds: writing})
		Expect(cluster.RotatePool(ctx, east, rotated)).To(Succeed())
		r.desired[east] = rotated
		leader := r.awaitLeader(ctx, interruption{1, admitted})
		theLab.Exclude(leader)
		DeferCleanup(theLab.Include, leader)
		expectUndisturbed(ctx)
		Expect(theLab.Leader(ctx)).To(Equal(leader), "it was there all the time")

		follower := standby(leader)
		wrote := audit.Writes(audit.By(r.events(theLab.Management), follower.Name), lab.ManagerUser, r.began, time.Now())
		Expect(wrote).To(HaveKey("elementalhostupgrades"), "it answers hooks")
		Expect(wrote).To(HaveKey("elementalhosts/status"), "it answers hosts")
		Expect(wrote).NotTo(HaveKey("elementalclusters/status"), "it hands out no slots")
		Expect(wrote).NotTo(HaveKey("elementalhostupgrades/status"), "it runs no attempts")
	})
})

// awaitLeader returns the leader once the moment has come.
func (r *rollout) awaitLeader(ctx context.Context, when interruption) *capi.Provider {
	GinkgoHelper()
	r.awaitPoint(ctx, when)
	leader := theLab.Leader(ctx)
	Expect(leader).NotTo(BeNil(), "there is a leader")
	return leader
}

// awaitPoint waits until the n-th node has reached the point, or has passed it.
func (r *rollout) awaitPoint(ctx context.Context, when interruption) {
	GinkgoHelper()
	Eventually(r.isAt, patience, look).WithContext(ctx).WithArguments(when).Should(BeTrue(), "node %d %s", when.node, when.at.name)
}

func (r *rollout) isAt(ctx context.Context, when interruption) (bool, error) {
	attempts, err := r.of.Attempts(ctx)
	if err != nil {
		return false, err
	}
	done := 0
	for i := range attempts {
		if r.wants(attempts[i].Spec.ImageURI) && attempts[i].Status.Phase == infrav1.UpgradeSucceeded {
			done++
		}
	}
	if done >= when.node {
		return true, nil
	}
	slots, err := slotsOf(ctx, r.of)
	if err != nil || done < when.node-1 || len(slots) == 0 {
		return false, err
	}
	return r.holderIsAt(ctx, slots[0].Upgrade, when.at)
}

func (r *rollout) wants(imageURI string) bool {
	for _, os := range r.desired {
		if os.URI() == imageURI {
			return true
		}
	}
	return false
}

// holderIsAt reports whether the attempt that holds the slot has reached the point.
func (r *rollout) holderIsAt(ctx context.Context, name string, at point) (bool, error) {
	attempt, host := &infrav1.ElementalHostUpgrade{}, &infrav1.ElementalHost{}
	if err := theLab.Kube.Get(ctx, keyOf(r.of, name), attempt); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if err := theLab.Kube.Get(ctx, keyOf(r.of, attempt.Spec.HostName), host); err != nil {
		return false, err
	}
	if host.Status.Upgrade == nil || host.Status.Upgrade.Attempt != attempt.Status.Attempt {
		return false, nil
	}
	return at.reached(attempt, host), nil
}

// awaitOther waits until another replica leads.
func awaitOther(ctx context.Context, than *capi.Provider) {
	GinkgoHelper()
	Eventually(theLab.Leader, patience, look).WithContext(ctx).Should(Equal(standby(than)), "the other replica takes over")
}

func standby(than *capi.Provider) *capi.Provider {
	if theLab.Managers[0] == than {
		return theLab.Managers[1]
	}
	return theLab.Managers[0]
}

// restart restarts a replica.
func restart(ctx context.Context, manager *capi.Provider) {
	GinkgoHelper()
	Expect(manager.Process.Restart()).To(Succeed())
	Expect(manager.AwaitReady(ctx)).To(Succeed())
}

// holder of the Lease; empty if there is none.
func holder(ctx context.Context) string {
	GinkgoHelper()
	leases := &coordinationv1.LeaseList{}
	Expect(theLab.Kube.List(ctx, leases, client.InNamespace(lab.ManagerNamespace))).To(Succeed())
	Expect(leases.Items).To(HaveLen(1))
	return ptr.Deref(leases.Items[0].Spec.HolderIdentity, "")
}
