// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restart_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
	wanted image.Image
	began  time.Time
	before scenario.Identity
	host   *lab.Host
	boots  int
}

// newUpgrade pushes the image; start requests it.
func newUpgrade(ctx context.Context, os image.OS) *upgrade {
	GinkgoHelper()
	identities, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(identities).To(HaveLen(1))
	Eventually(suite.WebOn).WithContext(ctx).WithArguments(theLab, identities[0].Node).Should(Equal(webPods), "there is something to drain")
	host := theLab.Host(identities[0].Node)
	return &upgrade{
		wanted: suite.Push(ctx, cluster, os), began: time.Now(), before: identities[0], host: host, boots: len(host.Boots()),
	}
}

// stop is a moment that an upgrade reaches. If the moment has a hold, the upgrade stays there until the spec
// releases it.
type stop struct {
	come <-chan struct{}
	// held is closed when the host is blocked, a little after it has reported the phase; nil if it is not.
	held <-chan struct{}
	goOn func()
	// where describes the progress of the upgrade, for failure messages.
	where func() string
}

// await waits for the moment.
func (s stop) await() {
	GinkgoHelper()
	Eventually(s.come, patience, 10*time.Millisecond).Should(BeClosed(), func() string { return "the moment comes: " + s.where() })
	if s.held != nil {
		Eventually(s.held, patience, 10*time.Millisecond).Should(BeClosed(), func() string { return "the host is held: " + s.where() })
	}
}

// start patches the template and returns the moments.
func (u *upgrade) start(ctx context.Context, at ...moment) []stop {
	GinkgoHelper()
	phases := []infrav1.HostUpgradePhase{}
	for _, m := range at {
		if m.host != "" {
			phases = append(phases, m.host)
		}
	}
	held := suite.HoldHost(u.host, phases...)
	stops := make([]stop, 0, len(at))
	for _, m := range at {
		s := stop{come: m.watch(ctx, u.wanted), goOn: func() { held.Release(string(m.host)) }, where: func() string { return u.where(ctx) }}
		if m.host != "" {
			s.held = held.Came(string(m.host))
		}
		if m.drain {
			s.goOn = holdDrain(ctx)
		}
		stops = append(stops, s)
	}
	Expect(cluster.PatchImage(ctx, u.wanted)).To(Succeed())
	return stops
}

// startUntil patches the template and returns once the moment has occurred, with a function that continues the
// upgrade.
func (u *upgrade) startUntil(ctx context.Context, m moment) (goOn func()) {
	GinkgoHelper()
	s := u.start(ctx, m)[0]
	s.await()
	return s.goOn
}

// where describes in one line the state of the objects involved in the upgrade.
func (u *upgrade) where(ctx context.Context) string {
	attempt, err := u.attempt(ctx)
	if err != nil {
		return err.Error()
	}
	said, err := u.says(ctx)
	if err != nil {
		return err.Error()
	}
	hosts, err := cluster.Hosts(ctx)
	if err != nil {
		return err.Error()
	}
	deployments := &clusterv1.MachineDeploymentList{}
	if err := theLab.Kube.List(ctx, deployments, client.InNamespace(cluster.Namespace())); err != nil {
		return err.Error()
	}
	line := ""
	for i := range deployments.Items {
		line += fmt.Sprintf("MachineDeployment names %s; ", deployments.Items[i].Spec.Template.Spec.InfrastructureRef.Name)
	}
	line += fmt.Sprintf("image %s, attempt %q phase %q step %q: %s; Machine: %q", u.wanted.URI(), attempt.Name, attempt.Status.Phase,
		attempt.Status.Position(), attempt.Status.Message, said)
	for i := range hosts {
		if hosts[i].Name == u.host.Name() {
			line += fmt.Sprintf("; host: label %q asked %+v reported %+v seen %s", hosts[i].Labels[infrav1.InPlaceUpgradeLabel],
				hosts[i].Spec.Upgrade, hosts[i].Status.Upgrade, hosts[i].Status.Agent.LastSeen)
		}
	}
	return line
}

// expectSucceeded waits for the end and asserts on how often the image was written and booted.
func (u *upgrade) expectSucceeded(ctx context.Context) {
	GinkgoHelper()
	Expect(cluster.AwaitImage(ctx, u.wanted)).To(Succeed())
	Eventually(u.marks).WithContext(ctx).Should(Equal(scenario.Clean))
	identities, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(identities).To(ConsistOf(u.before), "Machine, Node and provider ID are the same")
	u.expectOnce()
}

// expectAttempts asserts the phases in which the attempts for the image have ended.
func (u *upgrade) expectAttempts(ctx context.Context, phases ...infrav1.UpgradePhase) {
	GinkgoHelper()
	Expect(u.phases(ctx)).To(ConsistOf(phases))
}

func (u *upgrade) phases(ctx context.Context) ([]infrav1.UpgradePhase, error) {
	attempts, err := cluster.Attempts(ctx)
	phases := []infrav1.UpgradePhase{}
	for i := range attempts {
		if attempts[i].Spec.ImageURI == u.wanted.URI() {
			phases = append(phases, attempts[i].Status.Phase)
		}
	}
	return phases, err
}

// expectOnce asserts that the image was written once and booted once. A call of the CLI that was killed is
// repeated, unless it was killed after it had written everything.
func (u *upgrade) expectOnce() {
	GinkgoHelper()
	finished, killed := suite.Writes(u.host, u.began)
	if killed == 0 || finished > 0 {
		Expect(finished).To(Equal(1), "elemental upgrade ran to its end once")
	}
	Expect(u.reboots()).To(Equal(1), "the host was rebooted once")
}

// reboots of the host since the upgrade began.
func (u *upgrade) reboots() int { return len(u.host.Boots()) - u.boots }

// rebooted waits for a number of reboots, and reports whether they happened: what was killed must be restarted in
// any case.
func (u *upgrade) rebooted(times int) bool {
	deadline := time.After(patience)
	for u.reboots() < times {
		select {
		case <-deadline:
			return false
		case <-time.After(look):
		}
	}
	return true
}

// expectUntouched asserts that no image was written and the host was not rebooted.
func (u *upgrade) expectUntouched() {
	GinkgoHelper()
	finished, killed := suite.Writes(u.host, u.began)
	Expect(finished+killed).To(BeZero(), "elemental upgrade was not called")
	Expect(u.reboots()).To(BeZero(), "the host was not rebooted")
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

// kubectl runs a kubectl verb on the attempt.
func (u *upgrade) kubectl(ctx context.Context, verb string, args ...string) {
	GinkgoHelper()
	attempt, err := u.attempt(ctx)
	Expect(err).NotTo(HaveOccurred())
	_, err = cluster.Kubectl(ctx, append([]string{"--namespace", cluster.Namespace(), verb, "elementalhostupgrade", attempt.Name}, args...)...)
	Expect(err).NotTo(HaveOccurred())
}

// set patches a field of the attempt's spec to true.
func (u *upgrade) set(ctx context.Context, field string) {
	GinkgoHelper()
	u.kubectl(ctx, "patch", "--type", "merge", "--patch", `{"spec":{"`+field+`":true}}`)
}

// says is how far the attempt is.
func (u *upgrade) says(ctx context.Context) (string, error) {
	attempt, err := u.attempt(ctx)
	return string(attempt.Status.Phase) + ": " + attempt.Status.Message, err
}

// marks on the objects of the worker.
func (u *upgrade) marks(ctx context.Context) (scenario.Marks, error) {
	return cluster.Marks(ctx, u.before)
}
