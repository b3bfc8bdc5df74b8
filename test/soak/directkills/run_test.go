// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package directkills_test

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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/killtable"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// run is one rollout.
type run struct {
	wanted   image.Image
	began    time.Time
	before   []scenario.Identity
	host     *lab.Host
	boots    int
	triggers int
	starts   int
}

// rollOut an image, with room for some kills, and asserts the outcome. It returns how many kills there was still room for.
func rollOut(ctx context.Context, room int) int {
	GinkgoHelper()
	r := newRun(ctx)
	Expect(scene.Begin(room, func() error { return cluster.PatchPool(ctx, alone, r.wanted) })).To(Succeed())
	err := scenario.Await(ctx, "the attempt to succeed", r.approveAndLook)
	if err == nil {
		err = cluster.AwaitRolledOut(ctx, alone)
	}
	kills, _, left, failure := scene.Look()
	By(fmt.Sprintf("run %d, in which the manager was killed:\n%s", scene.Run(), strings.Join(kills, "\n")))
	Expect(failure).NotTo(HaveOccurred())
	Expect(err).NotTo(HaveOccurred())
	r.expectSucceeded(ctx)
	r.expectOnce()
	return left
}

func newRun(ctx context.Context) *run {
	GinkgoHelper()
	identities, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(cluster.AwaitWeb(ctx)).To(Succeed(), "there is something to drain")
	Eventually(scene.IsManagerUp, patience, look).Should(BeTrue(), "the manager is up")
	wanted, err := cluster.PushImage(ctx, fmt.Sprintf("k%d", scene.Run()+1), image.OS{})
	Expect(err).NotTo(HaveOccurred())
	host := theLab.Host(node.Node)
	return &run{
		wanted: wanted, began: time.Now(), before: identities, host: host,
		boots: len(host.Boots()), triggers: triggers(), starts: guestStarts(),
	}
}

func triggers() int { return len(audit.Triggered(suite.Audit(theLab.Management))[node.Node]) }

func guestStarts() int {
	return audit.Starts(suite.Audit(theLab.Workload))[client.ObjectKey{Namespace: vm.Namespace, Name: guest}.String()]
}

// approveAndLook approves the attempt for the image when it waits for that, and says what is missing until it has succeeded. The webhook
// that is asked about the approval is down with the manager.
func (r *run) approveAndLook(ctx context.Context) (string, error) {
	attempts, err := r.attempts(ctx)
	if err != nil || len(attempts) == 0 {
		return "no attempt", err
	}
	attempt := &attempts[0]
	if attempt.Status.Phase == infrav1.UpgradeSucceeded {
		return "", nil
	}
	if attempt.Status.Step == "Approve" && !attempt.Spec.Approved {
		before := client.MergeFrom(attempt.DeepCopy())
		attempt.Spec.Approved = true
		if err := theLab.Kube.Patch(ctx, attempt, before); err != nil {
			return err.Error(), nil
		}
	}
	return fmt.Sprintf("%s: %s", attempt.Status.Position(), attempt.Status.Message), nil
}

// attempts for the image.
func (r *run) attempts(ctx context.Context) ([]infrav1.ElementalHostUpgrade, error) {
	all, err := cluster.Attempts(ctx)
	found := []infrav1.ElementalHostUpgrade{}
	for i := range all {
		if all[i].Spec.ImageURI == r.wanted.URI() {
			found = append(found, all[i])
		}
	}
	return found, err
}

// expectSucceeded asserts that the rollout has left only its outcome.
func (r *run) expectSucceeded(ctx context.Context) {
	GinkgoHelper()
	Expect(r.attempts(ctx)).To(ConsistOf(And(
		HaveField("Status.Phase", infrav1.UpgradeSucceeded), HaveField("Spec.Driver", infrav1.DriverDirect),
	)), "one attempt, and it succeeded")
	Eventually(cluster.Marks, patience, look).WithContext(ctx).WithArguments(node).Should(Equal(scenario.Clean))
	Eventually(rolledOut, patience, look).WithContext(ctx).Should(BeEmpty(), "nothing is rolled out to the Machine any more")
	Eventually(r.hostSays, patience, look).WithContext(ctx).Should(BeNil(), "the host has forgotten the attempt")
	Expect(killtable.Marker(r.host)).To(BeEmpty(), "the agent has no marker")
	Expect(cluster.Identities(ctx)).To(Equal(r.before), "Machine, Node and provider ID are the same")
	_, err := cluster.AwaitVM(ctx, client.ObjectKey{Namespace: vm.Namespace, Name: guest}, node.Node)
	Expect(err).NotTo(HaveOccurred())
}

// rolledOut is the ElementalRollout that brings the Machine to an image; empty if none does.
func rolledOut(ctx context.Context) (string, error) {
	machine := &infrav1.ElementalMachine{}
	err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: alone}, machine)
	return machine.Annotations[infrav1.RolloutAnnotation], err
}

func (r *run) hostSays(ctx context.Context) (*infrav1.HostUpgradeStatus, error) {
	host := &infrav1.ElementalHost{}
	err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: r.host.Name()}, host)
	return host.Status.Upgrade, err
}

// expectOnce asserts that the host was triggered once, the image written and booted once, and the virtual machine started again once.
func (r *run) expectOnce() {
	GinkgoHelper()
	finished, cutOff := suite.Writes(r.host, r.began)
	Expect(finished).To(Equal(1), "elemental upgrade ran to its end once")
	Expect(cutOff).To(BeZero())
	Expect(len(r.host.Boots())-r.boots).To(Equal(1), "the host was rebooted once")
	Expect(triggers()-r.triggers).To(Equal(1), "the host was triggered once")
	Expect(guestStarts()-r.starts).To(Equal(1), "the virtual machine was started again once")
}
