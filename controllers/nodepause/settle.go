// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// conflictRetry is when an object is looked at again that somebody else wrote at the same moment.
const conflictRetry = time.Second

// settleNodes makes the marks on the Nodes what they have to be. A workload cluster that is not connected is an event
// when it is.
func (r *Reconciler) settleNodes(ctx context.Context, seen *observation) error {
	remote, err := r.connect(ctx, client.ObjectKeyFromObject(seen.cluster))
	if errors.Is(err, workload.ErrUnreachable) || errors.Is(err, clustercache.ErrClusterNotConnected) {
		return nil
	}
	if err != nil {
		return err
	}
	nodes, err := remote.CachedNodes(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for i := range nodes {
		node := &nodes[i]
		if seen.isLeft(node) {
			continue
		}
		due, err := seen.due(ctx, node.Name)
		if err == nil && pausing.Decide(pausing.MarksOf(node), due) != pausing.Leave {
			err = r.settleNode(ctx, seen, remote, node.Name)
		}
		failed = append(failed, err)
		if workload.IsUnanswered(err) {
			break
		}
	}
	return errors.Join(failed...)
}

// connect opens a workload cluster, and sees to it that a change of the marks of its Nodes is noticed.
func (r *Reconciler) connect(ctx context.Context, cluster client.ObjectKey) (*workload.Cluster, error) {
	if r.controller != nil {
		if err := r.Clusters.Watch(ctx, cluster, r.nodeWatcher(cluster)); err != nil {
			return nil, fmt.Errorf("watching the Nodes of Cluster %s: %w", cluster.Name, err)
		}
	}
	return r.Workload.Connect(ctx, cluster)
}

// isLeft reports whether nothing is to be done about a Node, whatever else is known of it: it has no marks, and no rollout pauses it.
func (o *observation) isLeft(node *corev1.Node) bool {
	of := o.subjects[node.Name]
	return pausing.MarksOf(node) == pausing.Marks{} && (of == nil || !pausing.Names(of.options.Strategy, node.Name))
}

// due is what a rollout means for a Node; nothing, if it is no Machine's, or its Cluster goes.
func (o *observation) due(ctx context.Context, node string) (pausing.Due, error) {
	found, err := o.subjectOn(ctx, node)
	if err != nil || found == nil || !o.cluster.DeletionTimestamp.IsZero() {
		return pausing.Due{}, err
	}
	return found.due(node), nil
}

// settleNode does what the marks of one Node ask for, by live reads.
func (r *Reconciler) settleNode(ctx context.Context, seen *observation, remote *workload.Cluster, name string) error {
	of, err := seen.subjectOn(ctx, name)
	if err != nil {
		return err
	}
	if err := r.confirm(ctx, of); err != nil {
		return err
	}
	node, err := remote.Node(ctx, name)
	if err != nil || node == nil {
		return err
	}
	due, err := seen.due(ctx, name)
	if err != nil {
		return err
	}
	log := ctrl.LoggerFrom(ctx)
	switch pausing.Decide(pausing.MarksOf(node), due) {
	case pausing.Pause:
		log.Info("Pausing node", "Node", klog.KObj(node), "rollout", due.Rollout)
		return remote.Pause(ctx, node, due.Rollout)
	case pausing.Approve:
		log.Info("Node was resumed before its upgrade", "Node", klog.KObj(node), "rollout", due.Rollout)
		if err := r.writeApproval(ctx, of.machine, due.Rollout); err != nil {
			return err
		}
		return remote.ClearPause(ctx, node)
	case pausing.Clear:
		return remote.ClearPause(ctx, node)
	case pausing.Leave:
	}
	return nil
}

// confirm reads live what a subject is paused by: the cache may not show yet that a person has let its node go on, or
// that its attempt has ended.
func (r *Reconciler) confirm(ctx context.Context, of *subject) error {
	if of == nil {
		return nil
	}
	machine := &clusterv1.Machine{}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(of.machine), machine); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading Machine %s: %w", of.machine.Name, err)
		}
		of.rollout = "" // it is gone
		return nil
	}
	list := &infrav1.ElementalHostUpgradeList{}
	if err := r.APIReader.List(ctx, list, client.InNamespace(machine.Namespace), client.MatchingFields{attempts.ByMachine: machine.Name}); err != nil {
		return fmt.Errorf("listing ElementalHostUpgrades of Machine %s: %w", machine.Name, err)
	}
	of.machine = machine
	of.attempt = attempts.NewestWhere(list.Items, func(u *infrav1.ElementalHostUpgrade) bool { return pausing.RolloutOf(u) == of.rollout })
	return nil
}

// forgetApprovals takes away, from Machines, approvals for rollouts that are over or that nobody wants any more.
func (r *Reconciler) forgetApprovals(ctx context.Context, seen *observation) error {
	var failed []error
	for node, of := range seen.subjects {
		if pausing.ApprovedFor(of.machine) == "" || !of.machine.DeletionTimestamp.IsZero() {
			continue
		}
		failed = append(failed, r.forgetApproval(ctx, seen, node))
	}
	return errors.Join(failed...)
}

func (r *Reconciler) forgetApproval(ctx context.Context, seen *observation, node string) error {
	of, err := seen.subjectOn(ctx, node)
	if err != nil || of == nil || pausing.ApprovedFor(of.machine) == of.rollout && !of.isOver() {
		return err
	}
	return r.writeApproval(ctx, of.machine, "")
}

func (r *Reconciler) writeApproval(ctx context.Context, machine *clusterv1.Machine, rollout string) error {
	after := machine.DeepCopy()
	pausing.SetApproved(after, rollout)
	patch := client.MergeFrom(machine) // the attempt may say the same at the same moment
	if rollout == "" {
		patch = client.MergeFromWithOptions(machine, client.MergeFromWithOptimisticLock{})
	}
	if err := r.Client.Patch(ctx, after, patch); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("recording the approval of its node on Machine %s: %w", machine.Name, err)
	}
	return nil
}
