// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/killtable"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// run is one upgrade of the worker.
type run struct {
	wanted image.Image
	began  time.Time
	before []scenario.Identity
	host   *lab.Host
	boots  int
	starts map[string]int
}

// upgradeWorker upgrades the worker, with room for some kills, and asserts its outcome. It returns how many kills there
// was still room for.
func upgradeWorker(ctx context.Context, room int) int {
	GinkgoHelper()
	r := newRun(ctx)
	Expect(scene.Begin(room, func() error { return cluster.Rotate(ctx, r.wanted) })).To(Succeed())
	err := cluster.AwaitPool(ctx, scenario.Deployment, r.wanted)
	kills, _, left, failure := scene.Look()
	By(fmt.Sprintf("run %d, in which were killed:\n%s", scene.Run(), strings.Join(kills, "\n")))
	Expect(failure).NotTo(HaveOccurred())
	Expect(err).NotTo(HaveOccurred())
	r.expectSucceeded(ctx)
	r.expectOnce(len(kills) == 0)
	return left
}

func newRun(ctx context.Context) *run {
	GinkgoHelper()
	identities, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	gatherGuests(ctx)
	Expect(cluster.AwaitWeb(ctx)).To(Succeed(), "there is something to drain")
	Eventually(scene.IsManagerUp, patience, look).Should(BeTrue(), "the manager is up")
	wanted, err := cluster.PushImage(ctx, fmt.Sprintf("k%d", scene.Run()+1), image.OS{})
	Expect(err).NotTo(HaveOccurred())
	host := theLab.Host(worker.Node)
	return &run{wanted: wanted, began: time.Now(), before: identities, host: host, boots: len(host.Boots()), starts: guestStarts()}
}

// expectSucceeded asserts that the upgrade has left only its outcome.
func (r *run) expectSucceeded(ctx context.Context) {
	GinkgoHelper()
	Eventually(r.ends, patience, look).WithContext(ctx).Should(ConsistOf(infrav1.UpgradeSucceeded), "one attempt, and it succeeded")
	Eventually(cluster.Marks, patience, look).WithContext(ctx).WithArguments(worker).Should(Equal(scenario.Clean))
	Eventually(r.hostSays, patience, look).WithContext(ctx).Should(BeNil(), "the host has forgotten the attempt")
	Expect(killtable.Marker(r.host)).To(BeEmpty(), "the agent has no marker")
	Expect(cluster.Identities(ctx)).To(Equal(r.before), "Machine, Node and provider ID are the same")
	expectGuestsBack(ctx, r.starts, r.began)
}

// ends of the attempts for the image.
func (r *run) ends(ctx context.Context) ([]infrav1.UpgradePhase, error) {
	attempts, err := cluster.Attempts(ctx)
	ends := []infrav1.UpgradePhase{}
	for i := range attempts {
		if attempts[i].Spec.ImageURI == r.wanted.URI() {
			ends = append(ends, attempts[i].Status.Phase)
		}
	}
	return ends, err
}

func (r *run) hostSays(ctx context.Context) (*infrav1.HostUpgradeStatus, error) {
	host := &infrav1.ElementalHost{}
	err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: r.host.Name()}, host)
	return host.Status.Upgrade, err
}

// expectOnce asserts that the image was written once and booted once. A write that was killed with the agent is
// repeated, unless it was killed after it had written everything.
func (r *run) expectOnce(undisturbed bool) {
	GinkgoHelper()
	finished, cutOff := suite.Writes(r.host, r.began)
	if cutOff == 0 || finished > 0 {
		Expect(finished).To(Equal(1), "elemental upgrade ran to its end once")
	}
	if undisturbed {
		Expect(cutOff).To(BeZero())
	}
	Expect(len(r.host.Boots())-r.boots).To(Equal(1), "the host was rebooted once")
}
