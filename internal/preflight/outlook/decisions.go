// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// verbs say a decision in words.
var verbs = map[infrav1.VMDecision]string{
	infrav1.VMMigrate:            "migrates",
	infrav1.VMShutdown:           "is shut down",
	infrav1.VMShutdownAndRestore: "is shut down and restored",
	infrav1.VMBlock:              "blocks",
}

// tellDecisions of a node, as "; virtual machines: default/a migrates, default/b blocks (reason)". What blocks comes first,
// because a long line is cut.
func tellDecisions(decisions []infrav1.VirtualMachineStatus) string {
	blocking, others := []string{}, []string{}
	for _, decision := range decisions {
		verb, told := verbs[decision.Decision]
		said := decision.Namespace + "/" + decision.Name + " " + verb
		switch {
		case !told: // there is nothing to do about it
		case decision.Decision == infrav1.VMBlock:
			blocking = append(blocking, said+" ("+decision.Reason+")")
		default:
			others = append(others, said)
		}
	}
	all := append(blocking, others...)
	if len(all) == 0 {
		return ""
	}
	return "; virtual machines: " + strings.Join(all, ", ")
}
