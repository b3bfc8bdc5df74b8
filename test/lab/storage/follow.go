// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// followPoll is how often the Nodes are polled.
const followPoll = 200 * time.Millisecond

// requests are how the double is asked to behave.
type requests struct {
	mutex sync.Mutex
	// failures of Follow, which continues after them.
	failures []error
	// held blocks rebuilds.
	held bool
	// stuck are volumes that stay attached to their Nodes.
	stuck []string
}

// HoldRebuilds blocks the rebuild of failed replicas until it is called with false. Rebuilds that have started do not
// finish meanwhile.
func (l *Longhorn) HoldRebuilds(hold bool) {
	l.asked.mutex.Lock()
	defer l.asked.mutex.Unlock()
	l.asked.held = hold
}

// Stick keeps volumes attached to their Nodes even if those are drained. Others move to the next Node, like the Pods of
// a Deployment that use them. It replaces the volumes of the previous call.
func (l *Longhorn) Stick(volumes ...string) {
	l.asked.mutex.Lock()
	defer l.asked.mutex.Unlock()
	l.asked.stuck = volumes
}

// Err returns the failures of Follow.
func (l *Longhorn) Err() error {
	l.asked.mutex.Lock()
	defer l.asked.mutex.Unlock()
	return errors.Join(l.asked.failures...)
}

// Follow simulates Longhorn until the context ends: every Node has an instance manager, without which the replicas
// there fail and with which they are rebuilt; a PodDisruptionBudget protects one that a volume needs.
func (l *Longhorn) Follow(ctx context.Context) {
	_ = wait.PollUntilContextCancel(ctx, followPoll, true, func(ctx context.Context) (bool, error) {
		if err := l.pass(ctx); err != nil && ctx.Err() == nil && len(l.asked.failures) < 10 {
			l.asked.mutex.Lock()
			l.asked.failures = append(l.asked.failures, err)
			l.asked.mutex.Unlock()
		}
		return false, nil
	})
}

// pass reconciles everything once.
func (l *Longhorn) pass(ctx context.Context) error {
	nodes := &corev1.NodeList{}
	if err := l.kube.List(ctx, nodes); err != nil {
		return fmt.Errorf("listing Nodes: %w", err)
	}
	serving, open, err := l.serve(ctx, nodes.Items)
	if err != nil {
		return err
	}
	needed, err := l.followAll(ctx, serving, open)
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		if err := l.guard(ctx, nodes.Items[i].Name, slices.Contains(needed, nodes.Items[i].Name)); err != nil {
			return err
		}
	}
	return nil
}

// serve keeps the instance managers running, and returns the Nodes on which they run, and which of those are
// schedulable.
func (l *Longhorn) serve(ctx context.Context, nodes []corev1.Node) (serving, open []string, err error) {
	for i := range nodes {
		runs, err := l.keepManager(ctx, &nodes[i])
		if err != nil {
			return nil, nil, err
		}
		if runs {
			serving = append(serving, nodes[i].Name)
		}
		if runs && !nodes[i].Spec.Unschedulable {
			open = append(open, nodes[i].Name)
		}
	}
	return serving, open, nil
}

// followAll reconciles all volumes with the Nodes, and returns the Nodes whose instance managers are needed.
func (l *Longhorn) followAll(ctx context.Context, serving, open []string) ([]string, error) {
	volumes := &unstructured.UnstructuredList{}
	volumes.SetGroupVersionKind(Volume)
	if err := l.kube.List(ctx, volumes, client.InNamespace(Namespace)); err != nil {
		return nil, fmt.Errorf("listing volumes: %w", err)
	}
	needed := []string{}
	for i := range volumes.Items {
		needs, err := l.follow(ctx, &volumes.Items[i], serving, open)
		if err != nil {
			return nil, err
		}
		needed = append(needed, needs...)
	}
	return needed, nil
}

// follow reconciles an attached volume with the Nodes, and returns the Nodes whose instance managers it needs.
func (l *Longhorn) follow(ctx context.Context, volume *unstructured.Unstructured, serving, open []string) ([]string, error) {
	node, _, _ := unstructured.NestedString(volume.Object, "status", "currentNodeID")
	if node == "" {
		return nil, nil
	}
	node, err := l.move(ctx, volume.GetName(), node, open)
	if err != nil {
		return nil, err
	}
	engine := New(Engine, Namespace, volume.GetName()+"-e-0", nil)
	if err := l.kube.Get(ctx, client.ObjectKeyFromObject(engine), engine); err != nil {
		return nil, fmt.Errorf("reading the engine of volume %s: %w", volume.GetName(), err)
	}
	modes, _, _ := unstructured.NestedStringMap(engine.Object, "status", "replicaModeMap")
	healthy := []string{}
	for name, mode := range modes {
		holder := name[len(ReplicaName(volume.GetName(), "")):]
		if mode == "RW" {
			healthy = append(healthy, holder)
		}
		if err := l.followReplica(ctx, volume.GetName(), holder, mode, slices.Contains(serving, holder)); err != nil {
			return nil, err
		}
	}
	needs := []string{node}
	if len(healthy) == 1 {
		needs = append(needs, healthy...)
	}
	return needs, nil
}

func (l *Longhorn) followReplica(ctx context.Context, volume, node, mode string, served bool) error {
	l.asked.mutex.Lock()
	held := l.asked.held
	l.asked.mutex.Unlock()
	switch {
	case !served && mode == "RW":
		return l.FailReplica(ctx, volume, node)
	case served && mode == "ERR" && !held:
		return l.StartRebuild(ctx, volume, node)
	case served && mode == "WO" && !held:
		return l.FinishRebuild(ctx, volume, node)
	}
	return nil
}

// move attaches a volume to the next Node if its own is drained, and returns the Node that it is attached to.
func (l *Longhorn) move(ctx context.Context, volume, node string, open []string) (string, error) {
	l.asked.mutex.Lock()
	stuck := slices.Contains(l.asked.stuck, volume)
	l.asked.mutex.Unlock()
	if stuck || len(open) == 0 || slices.Contains(open, node) {
		return node, nil
	}
	return open[0], l.Change(ctx, Volume, volume, func(stored *unstructured.Unstructured) { set(stored, open[0], "status", "currentNodeID") })
}
