// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Check is one thing that has to be so before a node may be touched.
type Check struct {
	// Name is what a waiver names it by.
	Name string
	// Run is pure. It returns what it found amiss, and nothing where all is well.
	Run func(*Snapshot, *Subject) []infrav1.PreflightResult
	// Final reports that a waiver could not help against what the check finds: it stops the attempt later all the same. Nil: never.
	Final func(*Snapshot, *Subject) bool
	// Holds says that what blocks also holds an attempt that has taken its slot, because it would be wrong to reboot this
	// very node for. What else goes wrong in the cluster from then on does not: a node that is drained would wait for it.
	Holds bool
	// OfHost says that it looks at nothing but the host, its Machine and its attempts: what other nodes do does not change what it finds.
	OfHost bool
}

// Checks in the order in which they are reported, with those of residents of workload clusters. The quarantine comes first:
// a bad image is not even offered to another host.
func Checks(residents ...workload.Resident) []Check {
	all := []Check{
		{Name: "Paused", Run: checkPaused, Holds: true, OfHost: true},
		{Name: "Approved", Run: checkApproved, Final: always, Holds: true, OfHost: true},
		{Name: quarantineCheck, Run: checkQuarantine, Final: isOwnQuarantine, Holds: true, OfHost: true},
		{Name: "OtherAttempt", Run: checkOtherAttempt, Holds: true, OfHost: true},
		{Name: "OtherUpgrades", Run: checkOtherUpgrades, Holds: true},
		{Name: "NodeReady", Run: checkNodeReady},
		{Name: "NodeHealth", Run: checkNodeHealth},
		{Name: "NodeSchedulable", Run: checkNodeSchedulable, Holds: true},
		{Name: "Maintenance", Run: checkMaintenance},
		{Name: "OtherNodes", Run: checkOtherNodes},
		{Name: "Machines", Run: checkMachines},
		{Name: "ControlPlaneQuorum", Run: checkQuorum, Holds: true},
		{Name: "KubeletVersion", Run: checkKubeletVersion},
		{Name: "Certificates", Run: checkCertificates},
	}
	for _, resident := range residents {
		for _, check := range resident.Checks() {
			all = append(all, checkOf(resident.Name(), check))
		}
	}
	return append(all, Check{Name: "Backups", Run: checkBackups, Holds: true})
}

// checkOf is a check of a resident, which finds nothing amiss where that is not installed.
func checkOf(resident string, check workload.Check) Check {
	return Check{Name: check.Name, Holds: check.Holds, Run: func(s *Snapshot, subject *Subject) []infrav1.PreflightResult {
		state, installed := s.States[resident]
		if !installed {
			return pass()
		}
		return check.Run(state, workload.Question{
			Node: subject.Node, Nodes: s.Nodes, Upgrading: s.upgrading(), Admitted: subject.Admitted,
		})
	}}
}

// Run all checks on a subject and return what is not as it should be. A check that is waived does not block: what it
// found is a warning, and is handed to waived. One that cannot be waived says so. Nor does a check block that does not hold
// an attempt which has taken its slot.
func Run(s *Snapshot, subject *Subject, waivers Waivers, waived func(infrav1.PreflightResult)) []infrav1.PreflightResult {
	results := []infrav1.PreflightResult{}
	for _, check := range Checks(s.Residents...) {
		for _, result := range check.Run(s, subject) {
			result.Check = check.Name
			switch {
			case result.Verdict != infrav1.PreflightBlock:
			case subject.Admitted && !check.Holds:
				result.Verdict = infrav1.PreflightWarn
			case !waivers.Has(check.Name):
			case check.Final != nil && check.Final(s, subject):
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

// IsOfHost reports whether a check of a name is OfHost.
func IsOfHost(name string) bool {
	return slices.ContainsFunc(Checks(), func(check Check) bool { return check.Name == name && check.OfHost })
}

func always(*Snapshot, *Subject) bool { return true }

// pass is what a check returns that found nothing amiss.
func pass() []infrav1.PreflightResult { return nil }

// What checks return that found something.
var block, warn = workload.Blocks, workload.Warns
