// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// fallbackModes are the boot modes of a host that could not boot what it was last brought to.
var fallbackModes = []string{"passive", "recovery"}

// judgeDrift tells a host that left its OS by itself from one that is being brought to another, or that an
// attempt did not get there. Unlike UpToDate it says nothing of templates: a rollout is no drift. An attempt that is in progress is all
// that it says until that has ended, also of a host that runs the OS already: it may fall back yet.
func judgeDrift(f osFacts) {
	const drifted = infrav1.OSDriftedCondition
	m := f.machine
	switch match := f.match(); {
	case f.host == nil || match == hoststate.MatchUnknown && osversion.Hash(m.Spec.OSVersionManagement) != "":
		condition.Unknown(m, drifted, infrav1.HostOSUnknownReason, "It is not known what the host runs")
	case f.upgrade != "":
		condition.False(m, drifted, infrav1.UpgradeInProgressReason, "The host is being brought to another OS")
	case match != hoststate.MatchOther:
		condition.False(m, drifted, infrav1.NotDriftedReason, "")
	case !hoststate.Bootstrapped(f.host):
		condition.False(m, drifted, infrav1.HostNotBootstrappedReason, "The host gets its OS before it is bootstrapped")
	case f.isUpdated():
		condition.False(m, drifted, infrav1.UpgradeInProgressReason, "The host is being brought to another OS")
	case f.attemptMissedIt():
		condition.False(m, drifted, infrav1.AttemptNotSucceededReason, "ElementalHostUpgrade %s ended as %s", f.last.Name, f.last.Status.Phase)
	case slices.Contains(fallbackModes, f.host.Status.OS.BootMode):
		condition.TrueBecause(m, drifted, infrav1.HostFellBackReason, "ElementalHost %s fell back outside of any upgrade: it booted %s in %s mode, and not %s",
			f.host.Name, hoststate.Describe(f.host), f.host.Status.OS.BootMode, describeOS(m.Spec.OSVersionManagement))
	default:
		condition.TrueBecause(m, drifted, infrav1.HostRunsOtherOSReason, "ElementalHost %s runs %s, and not %s, outside of any upgrade",
			f.host.Name, hoststate.Describe(f.host), describeOS(m.Spec.OSVersionManagement))
	}
}

func (f osFacts) match() hoststate.Match {
	if f.host == nil {
		return hoststate.MatchUnknown
	}
	return hoststate.Runs(f.host, f.machine.Spec.OSVersionManagement)
}

// isUpdated reports whether an update of the machine is under way. Cluster API marks the machine in the very
// write that gives it another OS, and the attempt follows later.
func (f osFacts) isUpdated() bool {
	return owner.IsUpdating(f.machine) ||
		f.owner != nil && owner.IsUpdating(f.owner) ||
		f.last != nil && f.last.PhaseNow() == infrav1.UpgradeHostLost ||
		capiworkaround.NeverBegun(f.machine, f.template, f.host)
}

// attemptMissedIt reports whether the last attempt was for this OS and did not bring the host to it.
func (f osFacts) attemptMissedIt() bool {
	return f.last != nil && f.last.PhaseNow() != infrav1.UpgradeSucceeded &&
		osversion.Same(f.last.Spec.OSVersionManagement, f.machine.Spec.OSVersionManagement)
}

// recordDrift tells of a drift that has been stored, or of its end.
func (r *Reconciler) recordDrift(before, after *infrav1.ElementalMachine) {
	was, is := conditions.IsTrue(before, infrav1.OSDriftedCondition), conditions.Get(after, infrav1.OSDriftedCondition)
	switch {
	case is == nil:
	case !was && is.Status == metav1.ConditionTrue:
		r.Recorder.Eventf(after, nil, corev1.EventTypeWarning, infrav1.EventOSDrifted, "Observe", "%s", is.Message)
	case was && is.Status == metav1.ConditionFalse:
		why := is.Message
		if is.Reason == infrav1.NotDriftedReason {
			why = "The host runs " + describeOS(after.Spec.OSVersionManagement) + " again"
		}
		r.Recorder.Eventf(after, nil, corev1.EventTypeNormal, infrav1.EventOSDriftEnded, "Observe", "%s", why)
	}
}
