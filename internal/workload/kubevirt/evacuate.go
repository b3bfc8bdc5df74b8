// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Evacuation of the virtual machines of one Node. Migrations that failed before it began do not count.
type Evacuation struct {
	workload.Evacuation
	// Client reads and writes the workload cluster, without a cache.
	Client client.Client
	// Nodes are all Nodes of the cluster; they are not changed. Default: they are listed.
	Nodes func(ctx context.Context) ([]corev1.Node, error)
	// Pods of the cluster that several evacuations share. Default: each lists them, where it has to.
	Pods *SharedPods
	// Canceller of evictions; needed by Cancel. Without one, marks are left.
	Canceller Canceller
}

// Progress of an evacuation, or of its undoing. After and VirtualMachines are set by progressOf.
type Progress struct {
	workload.Progress
	// Left is how many virtual machines are left to go.
	Left int
	// Decisions are what was decided for the virtual machines that are on the Node, by name.
	Decisions []Decision
}

// Evacuate makes the virtual machines of a Node leave it, and returns at once. It is one pass over the Node, and is
// repeated until it is done. What takes time in KubeVirt is waited for; an error means that an API server failed.
//
// Virtual machines are stopped last, when nothing else is left to wait for, so that they are off no longer than they
// have to be.
func Evacuate(ctx context.Context, e Evacuation) (Progress, error) {
	snapshot, err := e.look(ctx)
	if err != nil || snapshot == nil {
		return Progress{Progress: workload.Progress{Done: err == nil}}, err
	}
	if err := e.taint(ctx, snapshot.KubeVirt); err != nil {
		return Progress{}, err
	}
	pass := &pass{Evacuation: e}
	if pass.decider, pass.decisions, err = e.decideAll(ctx, snapshot); err != nil {
		return Progress{}, err
	}
	if err := pass.act(ctx); err != nil {
		if errors.Is(err, errUnanswered) {
			return Progress{Progress: workload.Progress{Held: true, Message: err.Error()}, Decisions: pass.decisions, Left: pass.left()}, nil
		}
		return Progress{}, err
	}
	return pass.progress(), nil
}

// evacuationBy is the key of the newest migration that there was when an evacuation began.
type evacuationBy struct{ attempt, node string }

func (e Evacuation) question(s *Snapshot) Question {
	return Question{Node: e.Node.Name, Policy: e.Policy, Since: e.since(s)}
}

// since is the moment, by the clock of the workload cluster, after which migrations were made for this evacuation: that of the newest which
// there was when it began. After a restart of the controller that is the newest which there is, so that each may fail as often again.
func (e Evacuation) since(s *Snapshot) time.Time {
	newest := time.Unix(0, 0)
	for i := range s.Migrations {
		if made := s.Migrations[i].CreationTimestamp.Time; made.After(newest) {
			newest = made
		}
	}
	began, _ := e.Observed.First(evacuationBy{e.Attempt, e.Node.Name}, newest.Unix(), e.Now).(int64)
	return time.Unix(began+1, 0)
}

// pass is one pass over a Node.
type pass struct {
	Evacuation
	*decider
	decisions []Decision
	// evictions that were asked for, and migrations that were created, in this pass.
	evictions, created int
}

// act does for every virtual machine what was decided. One whose turn has not come is left alone; where the policy is
// to block, all are as long as one blocks, so that a node is not emptied that cannot go down anyway.
func (p *pass) act(ctx context.Context) error {
	if p.Policy == infrav1.VMPolicyBlock && len(p.with(infrav1.VMBlock)) > 0 {
		return nil
	}
	for _, ways := range []map[way]func(context.Context, *Decision) error{
		{byEviction: p.evict, byMigration: p.migrate},
		{byHalting: p.halt, byDeletion: p.delete},
	} {
		acted := false
		for i := range p.decisions {
			decision := &p.decisions[i]
			do, ok := ways[decision.leaves]
			if !ok {
				continue
			}
			if err := do(ctx, decision); err != nil {
				return fmt.Errorf("evacuating VirtualMachineInstance %s/%s: %w", decision.Namespace, decision.Name, err)
			}
			acted = true
		}
		if acted || p.isWaiting() {
			return nil
		}
	}
	return nil
}

// isWaiting reports whether anything stands between the Node and its reboot that is not going to be stopped.
func (p *pass) isWaiting() bool {
	for _, decision := range p.decisions {
		if decision.Decision == infrav1.VMMigrate || decision.Decision == infrav1.VMBlock {
			return true
		}
	}
	return false
}

func (p *pass) left() int {
	count := 0
	for _, decision := range p.decisions {
		if decision.Decision != infrav1.VMIgnore {
			count++
		}
	}
	return count
}
