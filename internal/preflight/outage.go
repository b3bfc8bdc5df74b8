// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
)

// smallControlPlane is up to how many nodes etcd has no majority without one of them.
const smallControlPlane = 2

// readOutages reads the attempts on those hosts only whose reboot takes something down that has no other node.
func readOutages(ctx context.Context, view *clusterview.View, s *Snapshot) error {
	s.Outages = map[string]time.Duration{}
	for _, machine := range s.missed() {
		host := s.hostOf(machine)
		if host == nil {
			continue
		}
		all, err := view.AttemptsOnHost(ctx, host.Name)
		if err != nil {
			return err
		}
		s.Outages[host.Name] = attempts.Outage(all)
	}
	return nil
}

// missed are the Machines of the only Node of a cluster, and of a control plane of one or two.
func (s *Snapshot) missed() []*clusterv1.Machine {
	found, isSmall, isAlone := []*clusterv1.Machine{}, len(s.controlPlane()) <= smallControlPlane, len(s.Nodes) == 1
	for i := range s.Machines {
		machine := &s.Machines[i]
		if isSmall && util.IsControlPlaneMachine(machine) || isAlone && machine.Status.NodeRef.Name == s.Nodes[0].Name {
			found = append(found, machine)
		}
	}
	return found
}

// outage says for how long a node will be down.
func (s *Snapshot) outage(subject *Subject) string {
	took := s.Outages[subject.Host.Name]
	if took <= 0 {
		return "for how long is not known yet"
	}
	return "about " + InWords(took) + ", as in its last upgrade"
}

// InWords rounds a duration to minutes or, below one, to seconds.
func InWords(took time.Duration) string {
	count, unit := took.Round(time.Second)/time.Second, "second"
	if took.Round(time.Second) >= time.Minute {
		count, unit = took.Round(time.Minute)/time.Minute, "minute"
	}
	if count != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", count, unit)
}
