// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"encoding/json"
	"fmt"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// object is a JSON object in which nil stands for null, which removes a field (RFC 7396).
type object map[string]any

// statusPatch returns a merge patch that replaces a host's status by the reported one, except for the fields of the host controller:
// conditions and the fingerprint.
func statusPatch(status infrav1.ElementalHostStatus) ([]byte, error) {
	fields := object{
		"phase":        orNull(status.Phase),
		"message":      orNull(status.Message),
		"installed":    orNull(status.Installed),
		"bootstrapped": orNull(status.Bootstrapped),
		"addresses":    nil,
		"os":           osPatch(status.OS),
		"agent": object{
			"version":         orNull(status.Agent.Version),
			"volatileWorkDir": orNull(status.Agent.VolatileWorkDir),
			"outdated":        nil,                   // a current agent reports
			"lastSeen":        status.Agent.LastSeen, // null when zero
		},
		"upgrade": upgradePatch(status.Upgrade),
	}
	if len(status.BootIDs) > 0 {
		fields["bootIDs"] = status.BootIDs
	}
	if len(status.Addresses) > 0 {
		fields["addresses"] = status.Addresses
	}
	patch, err := json.Marshal(object{"status": fields})
	if err != nil {
		return nil, fmt.Errorf("encoding status: %w", err)
	}
	return patch, nil
}

// outdatedPatch returns a merge patch for a host with an outdated agent. It keeps everything that a current agent has reported.
func outdatedPatch(agent infrav1.HostAgent) ([]byte, error) {
	patch, err := json.Marshal(object{"status": object{"agent": object{
		"version": orNull(agent.Version), "outdated": true, "lastSeen": agent.LastSeen,
	}}})
	if err != nil {
		return nil, fmt.Errorf("encoding status of an outdated agent: %w", err)
	}
	return patch, nil
}

func osPatch(os infrav1.HostOS) any {
	if os == (infrav1.HostOS{}) {
		return nil
	}
	return object{
		"imageURI":  orNull(os.ImageURI),
		"digest":    orNull(os.Digest),
		"snapshot":  orNull(os.Snapshot),
		"bootMode":  orNull(os.BootMode),
		"bootID":    orNull(os.BootID),
		"version":   orNull(os.Version),
		"freeBytes": orNull(os.FreeBytes),
	}
}

func upgradePatch(upgrade *infrav1.HostUpgradeStatus) any {
	if upgrade == nil {
		return nil
	}
	return object{
		"attempt":    upgrade.Attempt,
		"phase":      upgrade.Phase,
		"digest":     orNull(upgrade.Digest),
		"imageBytes": orNull(upgrade.ImageBytes),
		"freeBytes":  orNull(upgrade.FreeBytes),
		"fromBootID": orNull(upgrade.FromBootID),
		"healthy":    orNull(upgrade.Healthy),
		"message":    orNull(upgrade.Message),
		"progress":   progressPatch(upgrade.Progress),
		"checks":     checksPatch(upgrade.Checks),
	}
}

func checksPatch(checks []infrav1.HostCheck) any {
	if len(checks) == 0 {
		return nil
	}
	return checks // a merge patch replaces lists
}

func progressPatch(progress *infrav1.HostUpgradeProgress) any {
	if progress == nil {
		return nil
	}
	return object{"stage": progress.Stage, "bytes": progress.Bytes, "totalBytes": orNull(progress.TotalBytes)}
}

func orNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}
