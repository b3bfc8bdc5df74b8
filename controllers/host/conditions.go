// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// observe sets the conditions from what is known of the host. None but AgentNotResponding depends on the time, so that nothing
// changes while nothing happens.
func observe(host *infrav1.ElementalHost, until deletionWait, unresolved *managedos.Problem, last *infrav1.ElementalHostUpgrade) error {
	host.Status.KeyFingerprint = wire.KeyFingerprint(host.Spec.PubKey)
	observeApproval(host)
	observeIdentity(host)
	observeWorkDir(host)
	observeAgent(host)
	observeRegistration(host)
	observeInstallation(host)
	observeBootstrap(host)
	observeOSVersion(host, unresolved, last)
	observeReset(host, until)
	return summarize(host)
}

// sayTheSame reports whether nothing differs but the generation that conditions were observed at.
func sayTheSame(before, after infrav1.ElementalHostStatus) bool {
	if len(before.Conditions) != len(after.Conditions) {
		return false
	}
	before.Conditions = slices.Clone(before.Conditions)
	for i := range before.Conditions {
		before.Conditions[i].ObservedGeneration = after.Conditions[i].ObservedGeneration
	}
	return equality.Semantic.DeepEqual(before, after)
}

// summarize sets Ready. A host that serves no machine has nothing to bootstrap: it is ready to be
// claimed.
func summarize(host *infrav1.ElementalHost) error {
	types := conditions.ForConditionTypes{
		infrav1.ApprovedCondition,
		infrav1.RegistrationReadyCondition,
		infrav1.InstallationReadyCondition,
		infrav1.OSVersionReadyCondition,
		infrav1.ResetReadyCondition,
		infrav1.AgentOutdatedCondition,
		infrav1.AgentNotRespondingCondition,
	}
	if host.Spec.MachineRef != nil {
		types = append(types, infrav1.BootstrapReadyCondition)
	}
	whileTrue := []string{infrav1.AgentOutdatedCondition, infrav1.AgentNotRespondingCondition}
	return condition.Summarize(host, condition.DefaultReason, types, conditions.IgnoreTypesIfMissing(whileTrue), conditions.NegativePolarityConditionTypes(whileTrue))
}

func observeApproval(host *infrav1.ElementalHost) {
	if host.Spec.Approved {
		condition.True(host, infrav1.ApprovedCondition)
		return
	}
	condition.False(host, infrav1.ApprovedCondition, infrav1.WaitingForApprovalReason,
		"Check that the host is what it claims to be, and set spec.approved to true: \"elemental-agent status\" on its console has to show the key %s",
		host.Status.KeyFingerprint)
}

// observeIdentity tells of two machines with one key, as a disk that was copied or a key that was stolen makes them. What each
// reports replaces what the other did. It is over with the next boots of the one that is left.
func observeIdentity(host *infrav1.ElementalHost) {
	boots := host.Status.BootIDs
	if len(boots) < infrav1.MaxBootIDs || boots[0] != boots[len(boots)-1] {
		conditions.Delete(host, infrav1.IdentityInUseTwiceCondition)
		return
	}
	conditions.Set(host, metav1.Condition{
		Type: infrav1.IdentityInUseTwiceCondition, Status: metav1.ConditionTrue, Reason: infrav1.BootIDsAlternateReason,
		Message: "Two machines report with the key of this host, in the boots " + strings.Join(slices.Sorted(slices.Values(boots[:2])), " and ") +
			": switch off the one that is a copy. If none is, the key was stolen: set spec.approved to false and have the host reset",
	})
}

// observeWorkDir tells of an agent whose directory does not persist. It goes on, but would not know after a reboot that it has made it.
func observeWorkDir(host *infrav1.ElementalHost) {
	if host.Status.Agent.VolatileWorkDir == "" {
		conditions.Delete(host, infrav1.WorkDirVolatileCondition)
		return
	}
	condition.TrueBecause(host, infrav1.WorkDirVolatileCondition, infrav1.LostWithRebootReason,
		"The host loses its key and what it was doing with the next reboot, and is not upgraded: %s", host.Status.Agent.VolatileWorkDir)
}

// observeAgent reports an agent of version 0.7, whose requests the Elemental API refuses.
func observeAgent(host *infrav1.ElementalHost) {
	if !host.Status.Agent.Outdated {
		conditions.Delete(host, infrav1.AgentOutdatedCondition)
		return
	}
	condition.TrueBecause(host, infrav1.AgentOutdatedCondition, infrav1.AgentNotSupportedReason,
		"The host runs elemental-agent %s, whose requests are refused: it can neither be upgraded nor reset until it runs an OS image with "+
			"a current elemental-agent; see \"Hosts that still run an agent of 0.7\" in docs/migration.md", host.Status.Agent.Version)
}

func observeRegistration(host *infrav1.ElementalHost) {
	if host.Spec.PubKey != "" {
		condition.True(host, infrav1.RegistrationReadyCondition)
		return
	}
	condition.False(host, infrav1.RegistrationReadyCondition, infrav1.RegistrationFailedReason,
		"The host has no public key: let its agent register")
}

func observeInstallation(host *infrav1.ElementalHost) {
	switch {
	case hoststate.Installed(host):
		condition.True(host, infrav1.InstallationReadyCondition)
	case host.Status.Phase == infrav1.HostPhaseInstalling && host.Status.Message != "":
		condition.False(host, infrav1.InstallationReadyCondition, infrav1.InstallationFailedReason, "%s", host.Status.Message)
	default:
		condition.False(host, infrav1.InstallationReadyCondition, infrav1.WaitingForInstallationReason,
			"Waiting for the agent to report an installed OS")
	}
}

func observeBootstrap(host *infrav1.ElementalHost) {
	switch {
	case hoststate.Bootstrapped(host):
		condition.True(host, infrav1.BootstrapReadyCondition)
	case host.Status.Phase == infrav1.HostPhaseBootstrapping && host.Status.Message != "":
		condition.False(host, infrav1.BootstrapReadyCondition, infrav1.BootstrapFailedReason, "%s", host.Status.Message)
	case host.Spec.MachineRef == nil:
		condition.False(host, infrav1.BootstrapReadyCondition, infrav1.WaitingForBootstrapReason, "The host serves no machine")
	default:
		condition.False(host, infrav1.BootstrapReadyCondition, infrav1.WaitingForBootstrapReason,
			"Waiting for the agent to apply the bootstrap data")
	}
}

func observeReset(host *infrav1.ElementalHost, until deletionWait) {
	resetting := host.Status.Phase == infrav1.HostPhaseTriggeringReset || host.Status.Phase == infrav1.HostPhaseResetting
	switch {
	case until.reason != "":
		condition.False(host, infrav1.ResetReadyCondition, until.reason, "%s", until.waits)
	case isStray(host):
		condition.False(host, infrav1.ResetReadyCondition, infrav1.ServesNoMachineReason,
			"The host is bootstrapped and serves no machine: set label %s to \"true\" to have it reset and free again", infrav1.NeedsResetLabel)
	case !hoststate.HasLabel(host, infrav1.NeedsResetLabel) || hoststate.HasLabel(host, infrav1.ResetLabel):
		condition.True(host, infrav1.ResetReadyCondition)
	case resetting && host.Status.Message != "":
		condition.False(host, infrav1.ResetReadyCondition, infrav1.ResetFailedReason, "%s", host.Status.Message)
	default:
		condition.False(host, infrav1.ResetReadyCondition, infrav1.WaitingForResetReason,
			"Waiting for the agent to reset the host")
	}
}

// isStray reports whether a host is part of a cluster that knows nothing of it: its ElementalHost was
// recreated, or its former life was not ended by a reset.
func isStray(host *infrav1.ElementalHost) bool {
	return host.Spec.Approved && host.Spec.MachineRef == nil && hoststate.Bootstrapped(host) && !hoststate.Released(host)
}
