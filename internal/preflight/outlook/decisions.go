// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Foresee adds what would become of the virtual machines of each node if it went down now. Nodes that go later may have
// others by then.
func (v *Viewer) Foresee(ctx context.Context, seen *Outlook) error {
	if seen.Unreachable || len(seen.Subjects) == 0 {
		return nil
	}
	live, err := v.Workload.Connect(ctx, client.ObjectKeyFromObject(seen.Cluster))
	if err != nil {
		return fmt.Errorf("looking for the virtual machines of Cluster %s: %w", seen.Cluster.Name, err)
	}
	nodes := make([]string, 0, len(seen.Subjects))
	for _, subject := range seen.Subjects {
		nodes = append(nodes, subject.Node.Name)
	}
	seen.Decisions = map[string][]infrav1.VirtualMachineStatus{}
	for _, resident := range live.Residents() {
		foreseen, err := resident.Foresee(ctx, live, nodes, seen.Options.VMPolicy)
		if err != nil {
			return err
		}
		for node, decisions := range foreseen {
			seen.Decisions[node] = append(seen.Decisions[node], decisions...)
		}
	}
	return nil
}

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
