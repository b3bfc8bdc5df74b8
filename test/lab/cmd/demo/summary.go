// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// epilogue prints a summary from the audit logs of both API servers, and checks the guarantees.
func (s *story) epilogue(ctx context.Context) error {
	workload, err := audit.Read(s.cluster.Lab.Workload.AuditLog())
	if err != nil {
		return err
	}
	management, err := audit.Read(s.cluster.Lab.Management.AuditLog())
	if err != nil {
		return err
	}
	s.title("Summary, counted from the audit logs of both API servers")
	if err := s.sumUpNodes(ctx, workload); err != nil {
		return err
	}
	s.sumUpPods(workload)
	if err := s.sumUpWrites(management); err != nil {
		return err
	}
	return s.sumUpMachines(ctx, management)
}

// sumUpWrites counts what this provider wrote to Machines and their owners while only a template was patched.
func (s *story) sumUpWrites(events []auditv1.Event) error {
	until := s.patched.To
	if until.IsZero() {
		until = time.Now()
	}
	owners := 0
	writes := audit.Writes(events, lab.ManagerUser, s.patched.From, until)
	for _, resource := range audit.Owners {
		owners += writes[resource]
	}
	s.say("writes to MachineDeployments, MachineSets and control planes for a patched template: %d", owners)
	s.expect(owners == 0, "%d writes to owners of Machines", owners)
	changed, err := audit.Patched(events, lab.ManagerUser, "machines", s.patched.From, until)
	if err != nil {
		return fmt.Errorf("counting writes to Machines: %w", err)
	}
	s.say("written to Machines: %s", cmp.Or(strings.Join(changed, ", "), "nothing"))
	for _, field := range changed {
		s.expect(slices.Contains(ofUpgrades, field), "a Machine was changed: %s", field)
	}
	return nil
}

// ofUpgrades is what an upgrade writes to a Machine: while its node is disrupted, MachineHealthChecks leave it alone. Where KubeadmControlPlane takes
// longer than a few seconds to see that a node is healthy again, it is made to look.
var ofUpgrades = []string{
	"annotation " + clusterv1.MachineSkipRemediationAnnotation, "annotation " + infrav1.SkipRemediationByAnnotation,
	"annotation " + infrav1.HealthLookAnnotation,
}

func (s *story) sumUpNodes(ctx context.Context, events []auditv1.Event) error {
	attempts, err := s.cluster.Attempts(ctx)
	if err != nil {
		return err
	}
	total := map[string]time.Duration{}
	for i := range attempts {
		status := attempts[i].Status
		if status.StartTime != nil && status.CompletionTime != nil {
			total[status.NodeName] += status.CompletionTime.Sub(status.StartTime.Time)
		}
	}
	cordons, downtimes := audit.Cordons(events), audit.Downtimes(events)
	s.say("%-13s %10s %10s %10s", "NODE", "CORDONED", "DOWN", "UPGRADING")
	now := time.Now()
	for _, identity := range s.before {
		node := identity.Node
		s.say("%-13s %10s %10s %10s", node, sum(cordons[node], now), sum(downtimes[node], now), total[node].Round(time.Second))
	}
	nodes, err := s.cluster.Nodes(ctx)
	if err != nil {
		return err
	}
	for i := range nodes {
		s.expect(!nodes[i].Spec.Unschedulable, "Node %s is still cordoned", nodes[i].Name)
	}
	most, wanted := audit.MaxOverlap(cordons), 1
	if s.single { // the only node of a cluster is not cordoned
		wanted = 0
	}
	s.say("nodes cordoned at the same time, at most: %d", most)
	s.expect(most == wanted, "%d nodes were cordoned at the same time", most)
	return nil
}

func sum(intervals []audit.Interval, now time.Time) string {
	total := time.Duration(0)
	for _, interval := range intervals {
		total += interval.Duration(now)
	}
	const tenth = 100 * time.Millisecond
	return fmt.Sprintf("%s in %d", total.Round(tenth), len(intervals))
}

func (s *story) sumUpPods(events []auditv1.Event) {
	s.say("Pods evicted: %d", len(audit.Evictions(events)))
	for name, budget := range audit.Budgets(events) {
		s.say("PodDisruptionBudget %s: wants %d healthy, had at least %d", name, budget.Desired, budget.Minimum)
		s.expect(budget.Minimum >= budget.Desired, "PodDisruptionBudget %s was violated: %d healthy of %d", name, budget.Minimum, budget.Desired)
	}
}

func (s *story) sumUpMachines(ctx context.Context, events []auditv1.Event) error {
	after, err := s.cluster.Identities(ctx)
	if err != nil {
		return err
	}
	s.say("\n%-13s %-38s %s", "NODE", "MACHINE UID (before and after)", "PROVIDER ID")
	for _, identity := range after {
		s.say("%-13s %-38s %s", identity.Node, identity.MachineUID, identity.ProviderID)
	}
	s.expect(slices.Equal(s.before, after), "Machines changed: before %s, after %s", describe(s.before), describe(after))
	deleted := audit.Deleted(events, "machines")
	s.say("Machines deleted: %d", len(deleted))
	s.expect(len(deleted) == 0, "Machines were deleted: %s", strings.Join(deleted, ", "))
	return nil
}

func describe(identities []scenario.Identity) string {
	names := make([]string, 0, len(identities))
	for _, identity := range identities {
		names = append(names, identity.Node+"="+identity.MachineUID)
	}
	return strings.Join(names, ",")
}
