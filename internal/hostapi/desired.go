// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"k8s.io/utils/ptr"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagerules"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// revisionLength in hex digits. Only two revisions of the same host have to differ.
const revisionLength = 16

// Desired returns the desired state of a host, computed from its ElementalHost alone: no time, no other object. The trusted root is added
// when it is sent.
func Desired(host *infrav1.ElementalHost) wire.Desired {
	desired := wire.Desired{
		Approved: host.Spec.Approved,
		Reset:    hoststate.HasLabel(host, infrav1.NeedsResetLabel) && !hoststate.HasLabel(host, infrav1.ResetLabel),
	}
	desired.Upgrade = upgradeOf(host, desired.Reset)
	desired.Bootstrap = mayBootstrap(host) && !desired.Reset && finished(host, desired.Upgrade)
	desired.Unreported = host.Status.OS == (infrav1.HostOS{})
	desired.Revision = revisionOf(desired)
	return desired
}

// upgradeOf returns the attempt that the host takes part in: the upgrade controller's, a user's, or its own while it is idle. A host that is
// about to be wiped starts neither of the latter two.
func upgradeOf(host *infrav1.ElementalHost, reset bool) *wire.Upgrade {
	switch {
	case host.Spec.Upgrade != nil:
		return managedUpgrade(host)
	case reset:
		return nil
	case hoststate.Pending(host):
		return ownUpgrade(hoststate.ManualAttempt(host), host)
	case wantsOtherImage(host) && !succeeded(host, hoststate.IdleAttempt(host)):
		return ownUpgrade(hoststate.IdleAttempt(host), host)
	}
	return nil
}

func managedUpgrade(host *infrav1.ElementalHost) *wire.Upgrade {
	asked := host.Spec.Upgrade
	return &wire.Upgrade{
		Attempt:             asked.Attempt,
		Apply:               hoststate.Triggered(host),
		ApplyIn:             applyIn(host),
		Digest:              asked.Digest,
		ImageVerification:   imagerules.Convert(asked.ImageVerification),
		Prefetch:            string(asked.Prefetch),
		OSVersionManagement: management(asked.OSVersionManagement),
	}
}

// applyIn is nil for a host that is not triggered.
func applyIn(host *infrav1.ElementalHost) *wire.Boot {
	if !hoststate.Triggered(host) {
		return nil
	}
	boot := wire.Boot(*host.Spec.Upgrade.TriggeredFor)
	return &boot
}

// ownUpgrade is nil if spec.osVersionManagement is empty, or names a ManagedOSVersion whose image is not known yet: the predecessor treated
// a trigger without an image as success.
func ownUpgrade(attempt string, host *infrav1.ElementalHost) *wire.Upgrade {
	if attempt == "" || osversion.Unresolved(host.Spec.OSVersionManagement) != "" {
		return nil
	}
	return &wire.Upgrade{
		Attempt:             attempt,
		Apply:               true,
		ImageVerification:   imagerules.Convert(host.Spec.ImageVerification),
		OSVersionManagement: management(host.Spec.OSVersionManagement),
	}
}

// wantsOtherImage reports whether an idle host is known to run another image than it should. It is not known before the host has reported
// its OS.
func wantsOtherImage(host *infrav1.ElementalHost) bool {
	if hoststate.Bootstrapped(host) || host.Status.OS == (infrav1.HostOS{}) {
		return false
	}
	wanted := osversion.Image(host.Spec.OSVersionManagement)
	return wanted != "" && !osversion.SameImage(wanted, host.Status.OS.ImageURI)
}

func mayBootstrap(host *infrav1.ElementalHost) bool {
	return host.Spec.Approved && host.Spec.BootstrapSecret != nil && !hoststate.Bootstrapped(host)
}

// finished reports whether an upgrade is complete. A host whose upgrade failed runs an OS that is not desired, and must not become a Node.
func finished(host *infrav1.ElementalHost, upgrade *wire.Upgrade) bool {
	return upgrade == nil || succeeded(host, upgrade.Attempt)
}

func succeeded(host *infrav1.ElementalHost, attempt string) bool {
	reported := host.Status.Upgrade
	return reported != nil && reported.Attempt == attempt && reported.Phase == infrav1.HostUpgradeSucceeded
}

func management(of infrav1.OSVersionManagement) map[string]json.RawMessage {
	if of.IsZero() {
		return nil
	}
	converted := make(map[string]json.RawMessage, len(of.Plugins)+1)
	for key, value := range of.Plugins {
		converted[key] = json.RawMessage("null")
		if len(value.Raw) > 0 {
			converted[key] = value.Raw
		}
	}
	if version := of.OSVersion; version != nil {
		converted[infrav1.OSVersionKey], _ = json.Marshal(wire.OSVersion{ // strings and booleans alone
			ImageURI: version.Image(), UpgradeRecovery: ptr.Deref(version.UpgradeRecovery, false), Debug: ptr.Deref(version.Debug, false),
		})
	}
	return converted
}

// revisionOf returns a hash of a desired state. Encoding fails only for JSON that the API server would not have stored; the revision is then
// that of the rest.
func revisionOf(desired wire.Desired) string {
	desired.Revision = ""
	encoded, err := json.Marshal(desired)
	if err != nil && desired.Upgrade != nil {
		bare := *desired.Upgrade
		bare.OSVersionManagement = nil
		desired.Upgrade = &bare
		encoded, _ = json.Marshal(desired)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])[:revisionLength]
}
