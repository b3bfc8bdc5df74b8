// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// upgrade of the worker to an image, which a spec disturbs.
type upgrade struct {
	wanted image.Image
	began  time.Time
	worker scenario.Identity
	host   *lab.Host
	boots  int
	// answered is closed when Cluster API, after it has started to update the Machine, has received the answer that it
	// is done.
	answered chan struct{}
	// lift ends the hold of the attempt, if there is one.
	lift func(ctx context.Context)
}

// newUpgrade pushes the image; start requests it.
func newUpgrade(ctx context.Context, os image.OS) *upgrade {
	GinkgoHelper()
	return upgradeTo(ctx, suite.Push(ctx, cluster, os))
}

func upgradeTo(ctx context.Context, wanted image.Image) *upgrade {
	GinkgoHelper()
	workers, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(workers).To(HaveLen(1))
	host := theLab.Host(workers[0].Node)
	return &upgrade{
		wanted: wanted, began: time.Now(), worker: workers[0], host: host, boots: len(host.Boots()),
		answered: make(chan struct{}), lift: func(context.Context) {},
	}
}

// start rotates the template, once there are Pods to drain.
func (u *upgrade) start(ctx context.Context) {
	GinkgoHelper()
	Eventually(suite.WebOn).WithContext(ctx).WithArguments(theLab, u.worker.Node).Should(Equal(webPods), "there is something to drain")
	expectGuestRuns(ctx, u.worker.Node)
	u.patch(ctx)
}

// patch requests the image.
func (u *upgrade) patch(ctx context.Context) {
	GinkgoHelper()
	u.watchAnswer(ctx)
	Expect(cluster.Rotate(ctx, u.wanted)).To(Succeed())
}

// watchAnswer starts to watch for the end of the next in-place update. One that is already running is ignored, because
// it completes before the next begins.
func (u *upgrade) watchAnswer(ctx context.Context) {
	GinkgoHelper()
	former, begun := true, false
	suite.Follow(ctx, theLab.Kube, &clusterv1.MachineList{}, func(event watch.Event) bool {
		machine, isMachine := event.Object.(*clusterv1.Machine)
		if !isMachine || string(machine.UID) != u.worker.MachineUID {
			return false
		}
		_, updating := machine.Annotations[clusterv1.UpdateInProgressAnnotation]
		if begun && !updating {
			close(u.answered)
			return true
		}
		former = former && updating
		begun = begun || updating && !former
		return false
	}, client.InNamespace(cluster.Namespace()))
}

// attempt for the image; the zero value if there is none.
func (u *upgrade) attempt(ctx context.Context) (*infrav1.ElementalHostUpgrade, error) {
	attempts, err := cluster.Attempts(ctx)
	for i := range attempts {
		if attempts[i].Spec.ImageURI == u.wanted.URI() {
			return &attempts[i], nil
		}
	}
	return &infrav1.ElementalHostUpgrade{}, err
}

// theAttempt is the attempt, which must exist.
func (u *upgrade) theAttempt(ctx context.Context) *infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	attempt, err := u.attempt(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(attempt.Name).NotTo(BeEmpty())
	return attempt
}

// kubectl runs a kubectl verb on the attempt.
func (u *upgrade) kubectl(ctx context.Context, verb string, args ...string) {
	GinkgoHelper()
	args = append([]string{"--namespace", cluster.Namespace(), verb, "elementalhostupgrade", u.theAttempt(ctx).Name}, args...)
	_, err := cluster.Kubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
}

// set patches a field of the attempt's spec.
func (u *upgrade) set(ctx context.Context, field string, value bool) {
	GinkgoHelper()
	encoded, err := json.Marshal(map[string]any{"spec": map[string]bool{field: value}})
	Expect(err).NotTo(HaveOccurred())
	u.kubectl(ctx, "patch", "--type", "merge", "--patch", string(encoded))
}

// startWriting starts the upgrade, and returns when half of the image is written, where the host is blocked until it is
// released.
func (u *upgrade) startWriting(ctx context.Context) (release func()) {
	GinkgoHelper()
	held := suite.HoldHost(u.host, infrav1.HostUpgradeApplying)
	u.start(ctx)
	Eventually(held.Came(string(infrav1.HostUpgradeApplying))).Should(BeClosed(), "the image is being written")
	return func() { held.Release(string(infrav1.HostUpgradeApplying)) }
}

// expectUntouched asserts that no image was written and the host was not rebooted.
func (u *upgrade) expectUntouched() {
	GinkgoHelper()
	finished, unfinished := suite.Writes(u.host, u.began)
	Expect(finished+unfinished).To(BeZero(), "elemental upgrade was not called")
	Expect(u.host.Boots()).To(HaveLen(u.boots), "the host was not rebooted")
}

// expectSucceeded waits until the worker runs the image, with no mark left and the same Machine. The image must have
// been written completely once, although possibly started before, and booted once.
func (u *upgrade) expectSucceeded(ctx context.Context) {
	GinkgoHelper()
	Expect(cluster.AwaitImage(ctx, u.wanted)).To(Succeed())
	running = u.wanted
	Eventually(cluster.Marks).WithContext(ctx).WithArguments(u.worker).Should(Equal(scenario.Clean))
	expectAnswered(ctx, u)
	expectGuestRuns(ctx, u.worker.Node)
	Expect(cluster.Identities(ctx)).To(ConsistOf(u.worker), "Machine, Node and provider ID are the same")
	finished, _ := suite.Writes(u.host, u.began)
	Expect(finished).To(Equal(1), "elemental upgrade ran to its end once")
	Expect(u.host.Boots()).To(HaveLen(u.boots+1), "the host was rebooted once")
}

// expectNextSucceeds asserts that the next good image succeeds.
func expectNextSucceeds(ctx context.Context) {
	GinkgoHelper()
	setOptions(ctx, infrav1.NodeUpgradeOption{})
	next := newUpgrade(ctx, image.OS{})
	next.start(ctx)
	next.expectSucceeded(ctx)
	Expect(next.theAttempt(ctx).Status.Phase).To(Equal(infrav1.UpgradeSucceeded))
}

// setOptions changes how the cluster is upgraded, from the next rollout on.
func setOptions(ctx context.Context, options infrav1.NodeUpgradeOption) {
	GinkgoHelper()
	patch := func(ctx context.Context, value any) {
		GinkgoHelper()
		encoded, err := json.Marshal([]map[string]any{{"op": "add", "path": "/spec/nodeUpgradeOption", "value": value}})
		Expect(err).NotTo(HaveOccurred())
		_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalcluster", cluster.Options.Name,
			"--type", "json", "--patch", string(encoded))
		Expect(err).NotTo(HaveOccurred())
	}
	patch(ctx, options)
	DeferCleanup(func(ctx SpecContext) { patch(ctx, infrav1.NodeUpgradeOption{}) })
}
