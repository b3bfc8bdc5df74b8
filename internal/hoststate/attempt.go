// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hoststate

import (
	"fmt"
	"strconv"
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// Prefixes of the ids of attempts without an ElementalHostUpgrade. The hash of the OS in spec follows, so that
// the outcome for one OS is not mistaken for that of another.
const (
	// manualAttemptPrefix: a user set InPlaceUpgradeLabel to "pending".
	manualAttemptPrefix = "manual-"
	// idleAttemptPrefix: the host serves nothing yet, and gets its OS before it does.
	idleAttemptPrefix = "idle-"
)

// ManualAttempt is the id of the run that a user's trigger starts; empty if there is nothing to
// upgrade to. It ends with the number of the run, which is incremented by the write that records the end of the
// previous run: an agent never carries out the same id twice, and a retry is another run.
func ManualAttempt(host *infrav1.ElementalHost) string {
	hash := osversion.Hash(host.Spec.OSVersionManagement)
	if hash == "" {
		return ""
	}
	return fmt.Sprintf("%s%s-%d", manualAttemptPrefix, hash, ManualUpgrades(host)+1)
}

// IdleAttempt is the id of the attempt by which a host that serves nothing gets its OS; empty where there
// is nothing to upgrade to. After a manual run for that OS has failed it is the id of that run: with
// another id the agent would retry what has just failed.
func IdleAttempt(host *infrav1.ElementalHost) string {
	hash := osversion.Hash(host.Spec.OSVersionManagement)
	if hash == "" {
		return ""
	}
	last, outcome, _ := LastOutcome(host)
	if strings.HasPrefix(last, manualAttemptPrefix+hash+"-") && outcome != infrav1.InPlaceUpgradeDone {
		return last
	}
	return idleAttemptPrefix + hash
}

// Unmanaged reports whether an attempt was triggered by a user.
func Unmanaged(attempt string) bool { return strings.HasPrefix(attempt, manualAttemptPrefix) }

// Triggered reports whether the host has to carry out the attempt in spec.upgrade now: the trigger is set, and is for the boot that the host
// reports. A trigger for another boot is void, since the node was drained in that one. So is a trigger that names no boot: a manager has
// written it that did not know the field.
func Triggered(host *infrav1.ElementalHost) bool {
	asked := host.Spec.Upgrade
	return asked != nil && host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending &&
		asked.TriggeredFor != nil && *asked.TriggeredFor == PresentBoot(host)
}

// PresentBoot is the boot that the host reports.
func PresentBoot(host *infrav1.ElementalHost) infrav1.HostBoot {
	return infrav1.HostBoot{BootID: host.Status.OS.BootID, Digest: host.Status.OS.Digest}
}

// ManualUpgrades is the number of manual runs that have ended on the host. An invalid annotation counts as none.
func ManualUpgrades(host *infrav1.ElementalHost) uint64 {
	ended, err := strconv.ParseUint(host.Annotations[infrav1.ManualUpgradesAnnotation], 10, 32)
	if err != nil {
		return 0
	}
	return ended
}

// RecordOutcome records the outcome of a manual run, one of the InPlaceUpgrade values, in metadata, which a move preserves, and replaces the
// trigger by it. The outcome of an attempt with an ElementalHostUpgrade is recorded there alone.
func RecordOutcome(host *infrav1.ElementalHost, status *infrav1.HostUpgradeStatus, outcome string) {
	if host.Annotations == nil {
		host.Annotations = map[string]string{}
	}
	host.Annotations[infrav1.LastAttemptAnnotation] = fmt.Sprintf("%s=%s@%s", status.Attempt, outcome, status.Digest)
	host.Annotations[infrav1.ManualUpgradesAnnotation] = strconv.FormatUint(ManualUpgrades(host)+1, 10)
	host.Labels[infrav1.InPlaceUpgradeLabel] = outcome
}

// LastOutcome reads what RecordOutcome has recorded; all values are empty if nothing is recorded.
func LastOutcome(host *infrav1.ElementalHost) (attempt, outcome, digest string) {
	attempt, end, _ := strings.Cut(host.Annotations[infrav1.LastAttemptAnnotation], "=")
	outcome, digest, _ = strings.Cut(end, "@")
	return attempt, outcome, digest
}

// UpgradedByHand reports whether the host runs the OS to which a manual run has upgraded it.
func UpgradedByHand(host *infrav1.ElementalHost) bool {
	attempt, outcome, digest := LastOutcome(host)
	booted := host.Status.OS.Digest
	return Unmanaged(attempt) && outcome == infrav1.InPlaceUpgradeDone && (booted == "" || digest == "" || booted == digest)
}

// WithoutProgress is the reported status of an attempt without its progress, which no controller depends on.
func WithoutProgress(status *infrav1.HostUpgradeStatus) *infrav1.HostUpgradeStatus {
	if status == nil || status.Progress == nil {
		return status
	}
	without := *status
	without.Progress = nil
	return &without
}
