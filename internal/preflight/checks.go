// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Check is one thing that has to be so before a node may be touched.
type Check struct {
	// Name is what a waiver names it by.
	Name string
	// Run is pure. It returns what it found amiss, and nothing where all is well.
	Run func(*Snapshot, *Subject) []infrav1.PreflightResult
	// Final is a check that a waiver could not help against: what it finds stops the attempt later all the same.
	Final bool
	// Holds says that what blocks also holds an attempt that has taken its slot, because it would be wrong to reboot this
	// very node for. What else goes wrong in the cluster from then on does not: a node that is drained would wait for it.
	Holds bool
}

// Checks in the order in which they are reported. The quarantine comes first: a bad image is not even
// offered to another host.
func Checks() []Check {
	return []Check{
		{Name: "Paused", Run: checkPaused, Holds: true},
		{Name: "Approved", Run: checkApproved, Final: true, Holds: true},
		{Name: quarantineCheck, Run: checkQuarantine, Final: true, Holds: true},
		{Name: "OtherAttempt", Run: checkOtherAttempt, Holds: true},
		{Name: "OtherUpgrades", Run: checkOtherUpgrades, Holds: true},
		{Name: "NodeReady", Run: checkNodeReady},
		{Name: "NodeSchedulable", Run: checkNodeSchedulable, Holds: true},
		{Name: "Maintenance", Run: checkMaintenance},
		{Name: "OtherNodes", Run: checkOtherNodes},
		{Name: "Machines", Run: checkMachines},
		{Name: "ControlPlaneQuorum", Run: checkQuorum, Holds: true},
		{Name: "KubeletVersion", Run: checkKubeletVersion, Holds: true},
		{Name: "FreeSpace", Run: checkFreeSpace, Final: true, Holds: true},
		{Name: "Certificates", Run: checkCertificates},
		{Name: "KubeVirt", Run: checkKubeVirt},
		{Name: "VirtAPI", Run: checkVirtAPI, Holds: true},
		{Name: "VirtHandler", Run: checkVirtHandler},
		{Name: "Migrations", Run: checkMigrations, Holds: true},
		{Name: "Volumes", Run: checkVolumes, Holds: true},
		{Name: "Backups", Run: checkBackups, Holds: true},
	}
}

// Run all checks on a subject and return what is not as it should be. A check that is waived does not block: what it
// found is a warning, and is handed to waived. One that cannot be waived says so. Nor does a check block that does not hold
// an attempt which has taken its slot.
func Run(s *Snapshot, subject *Subject, waivers Waivers, waived func(infrav1.PreflightResult)) []infrav1.PreflightResult {
	results := []infrav1.PreflightResult{}
	for _, check := range Checks() {
		for _, result := range check.Run(s, subject) {
			result.Check = check.Name
			switch {
			case result.Verdict != infrav1.PreflightBlock:
			case subject.Admitted && !check.Holds:
				result.Verdict = infrav1.PreflightWarn
			case !waivers.Has(check.Name):
			case check.Final:
				result.Message += "; this check cannot be waived"
			default:
				result.Verdict = infrav1.PreflightWarn
				waived(result)
			}
			results = append(results, result)
		}
	}
	return results
}

// pass is what a check returns that found nothing amiss.
func pass() []infrav1.PreflightResult { return nil }

func block(object, message string) []infrav1.PreflightResult {
	return []infrav1.PreflightResult{{Verdict: infrav1.PreflightBlock, Object: object, Message: message}}
}

func warn(object, message string) []infrav1.PreflightResult {
	return []infrav1.PreflightResult{{Verdict: infrav1.PreflightWarn, Object: object, Message: message}}
}
