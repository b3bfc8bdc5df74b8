// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"cmp"
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// agent plays a host: its elemental-agent, the Elemental API that stores the reports, and the kubelet. It follows what package
// agent/upgrade documents: an attempt that is in flight goes on whatever is asked, and one that is not
// wanted any more is forgotten.
type agent struct {
	w    *world
	name string
	// marker is what the agent remembers.
	marker infrav1.HostUpgradeStatus
	// stopAt is the phase that the agent does not get beyond; empty: none.
	stopAt infrav1.HostUpgradePhase
	// obeys the digest that it is asked for, as an agent does that finds the image in its repository.
	obeys bool
	// silent agents report nothing and see nothing.
	silent bool
	// failsAt is the phase in which the attempt fails.
	failsAt infrav1.HostUpgradePhase
	// fallsBack to the former OS, which is good unless unhealthy is set.
	fallsBack, unhealthy bool
	// checks that it tells of at its end.
	checks []infrav1.HostCheck
	// warns is what it has to say of an upgrade that succeeds.
	warns string
	// down keeps the kubelet from coming up after a reboot.
	down bool
	// ahead is how far the clocks by which the Node is reported are ahead of the controller's.
	ahead time.Duration
	// applied are the attempts for which the image was written.
	applied []string
}

func newAgent(w *world, host string) *agent { return &agent{w: w, name: host} }

var inFlight = []infrav1.HostUpgradePhase{
	infrav1.HostUpgradeApplying, infrav1.HostUpgradeRebooting, infrav1.HostUpgradeAssessing,
}

// tick lets the host do one thing.
func (a *agent) tick(ctx context.Context) {
	GinkgoHelper()
	if a.silent {
		return
	}
	host := &infrav1.ElementalHost{}
	err := live.Get(ctx, a.key(), host)
	if apierrors.IsNotFound(err) {
		return
	}
	Expect(err).NotTo(HaveOccurred())
	if a.advance(ctx, host) {
		a.report(ctx, host)
	}
}

func (a *agent) key() client.ObjectKey {
	return client.ObjectKey{Namespace: a.w.namespace, Name: a.name}
}

// advance moves the marker, and reports whether there is something new to report.
func (a *agent) advance(ctx context.Context, host *infrav1.ElementalHost) bool {
	asked := host.Spec.Upgrade
	switch {
	case slices.Contains(inFlight, a.marker.Phase):
		return a.carryOn(ctx, host)
	case asked == nil:
		known := a.marker.Attempt != ""
		a.marker = infrav1.HostUpgradeStatus{}
		return known
	case asked.Attempt != a.marker.Attempt:
		a.marker = infrav1.HostUpgradeStatus{Attempt: asked.Attempt, Phase: infrav1.HostUpgradeAcknowledged}
		return true
	case a.marker.Phase == infrav1.HostUpgradeAcknowledged:
		return a.enter(infrav1.HostUpgradeFetching)
	case a.marker.Phase == infrav1.HostUpgradeFetching:
		a.marker.Digest = newDigest
		if a.obeys {
			a.marker.Digest = cmp.Or(asked.Digest, newDigest)
		}
		return a.enter(infrav1.HostUpgradeFetched)
	case a.marker.Phase == infrav1.HostUpgradeFetched && hoststate.Triggered(host):
		if a.stopAt == infrav1.HostUpgradeFetched {
			return false
		}
		a.applied = append(a.applied, a.marker.Attempt)
		a.marker.FromBootID = host.Status.OS.BootID
		return a.enter(infrav1.HostUpgradeApplying)
	}
	return false
}

// enter enters a phase, or fails in it.
func (a *agent) enter(phase infrav1.HostUpgradePhase) bool {
	if a.stopAt == a.marker.Phase {
		return false
	}
	a.marker.Phase = phase
	if a.failsAt == phase {
		a.marker.Phase, a.marker.Message = infrav1.HostUpgradeFailed, "no space left"
	}
	return true
}

func (a *agent) carryOn(ctx context.Context, host *infrav1.ElementalHost) bool {
	switch {
	case a.marker.Phase == infrav1.HostUpgradeApplying:
		moved := a.enter(infrav1.HostUpgradeRebooting)
		if moved && a.marker.Phase == infrav1.HostUpgradeRebooting {
			setNode(ctx, a.name, host.Status.OS.BootID, corev1.ConditionUnknown, a.w.clock.Now().Add(a.ahead))
		}
		return moved
	case a.stopAt == a.marker.Phase:
		return false
	case a.marker.Phase == infrav1.HostUpgradeRebooting:
		a.boot(ctx, host)
		return true
	case a.fallsBack:
		a.marker.Checks = a.checks
		a.marker.Phase, a.marker.Healthy, a.marker.Message = infrav1.HostUpgradeRolledBack, !a.unhealthy, "the wanted snapshot did not boot"
		return true
	}
	moved := a.enter(infrav1.HostUpgradeSucceeded)
	a.marker.Message = cmp.Or(a.marker.Message, a.warns)
	return moved
}

func (a *agent) boot(ctx context.Context, host *infrav1.ElementalHost) {
	host.Status.OS.BootID += "+"
	if !a.fallsBack {
		host.Status.OS.ImageURI, host.Status.OS.Digest, host.Status.OS.Version = newImage, a.marker.Digest, "OS v2"
	}
	a.marker.Phase = infrav1.HostUpgradeAssessing
	if !a.down {
		setNode(ctx, a.name, host.Status.OS.BootID, corev1.ConditionTrue, a.w.clock.Now().Add(a.ahead))
	}
}

// report stores the report as the Elemental API does: all of the status at once.
func (a *agent) report(ctx context.Context, host *infrav1.ElementalHost) {
	GinkgoHelper()
	host.Status.Upgrade = nil
	if a.marker.Attempt != "" {
		host.Status.Upgrade = a.marker.DeepCopy()
	}
	stored := &infrav1.ElementalHost{}
	Expect(live.Get(ctx, a.key(), stored)).To(Succeed())
	stored.Status = host.Status
	Expect(live.Status().Update(ctx, stored)).To(Succeed())
}
