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

// Ids of attempts that no ElementalHostUpgrade stands behind begin with one of these. The hash of the OS
// that spec asks for follows, so that what was done for one OS is not taken for another's.
const (
	// manualAttemptPrefix: a person set InPlaceUpgradeLabel to "pending".
	manualAttemptPrefix = "manual-"
	// idleAttemptPrefix: the host serves nothing yet, and gets its OS before it does.
	idleAttemptPrefix = "idle-"
)

// ManualAttempt is the id of the run that a person's trigger means; empty where there is nothing to
// upgrade to. It ends with the number of the run, which goes up in the write that records the end of the
// one before: an agent never carries the same id out twice, and a retry is another run.
func ManualAttempt(host *infrav1.ElementalHost) string {
	hash := osversion.Hash(host.Spec.OSVersionManagement)
	if hash == "" {
		return ""
	}
	return fmt.Sprintf("%s%s-%d", manualAttemptPrefix, hash, ManualUpgrades(host)+1)
}

// IdleAttempt is the id of the attempt by which a host that serves nothing gets its OS; empty where there
// is nothing to upgrade to. Once a person's run for that OS has ended badly it is that run's: under
// another id the agent would try by itself what has just failed.
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

// Unmanaged says whether an attempt is one that a person triggered.
func Unmanaged(attempt string) bool { return strings.HasPrefix(attempt, manualAttemptPrefix) }

// ManualUpgrades is how many runs by hand the host has ended. What is no number counts as none.
func ManualUpgrades(host *infrav1.ElementalHost) uint64 {
	ended, err := strconv.ParseUint(host.Annotations[infrav1.ManualUpgradesAnnotation], 10, 32)
	if err != nil {
		return 0
	}
	return ended
}

// RecordOutcome puts the end of an attempt, one of the InPlaceUpgrade values, where a move keeps it.
func RecordOutcome(host *infrav1.ElementalHost, status *infrav1.HostUpgradeStatus, outcome string) {
	if host.Annotations == nil {
		host.Annotations = map[string]string{}
	}
	if Unmanaged(status.Attempt) {
		host.Annotations[infrav1.ManualUpgradesAnnotation] = strconv.FormatUint(ManualUpgrades(host)+1, 10)
	}
	host.Annotations[infrav1.LastAttemptAnnotation] = fmt.Sprintf("%s=%s@%s", status.Attempt, outcome, status.Digest)
	host.Labels[infrav1.InPlaceUpgradeLabel] = outcome
}

// LastOutcome reads what RecordOutcome has recorded; all is empty where nothing is.
func LastOutcome(host *infrav1.ElementalHost) (attempt, outcome, digest string) {
	attempt, end, _ := strings.Cut(host.Annotations[infrav1.LastAttemptAnnotation], "=")
	outcome, digest, _ = strings.Cut(end, "@")
	return attempt, outcome, digest
}

// UpgradedByHand says whether what the host runs is what a person's run brought it to.
func UpgradedByHand(host *infrav1.ElementalHost) bool {
	attempt, outcome, digest := LastOutcome(host)
	booted := host.Status.OS.Digest
	return Unmanaged(attempt) && outcome == infrav1.InPlaceUpgradeDone && (booted == "" || digest == "" || booted == digest)
}

// WithoutProgress is what is reported of an attempt without how far it is with what takes long, on which nothing depends.
func WithoutProgress(status *infrav1.HostUpgradeStatus) *infrav1.HostUpgradeStatus {
	if status == nil || status.Progress == nil {
		return status
	}
	without := *status
	without.Progress = nil
	return &without
}
