// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"errors"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// observeDrain reads what Rancher asks for the Machine; nothing for the other drivers.
func (r *Reconciler) observeDrain(ctx context.Context, o *observation) error {
	if o.upgrade.Spec.Driver != infrav1.DriverRancherDrain {
		return nil
	}
	if r.Drains == nil {
		return errors.New("this manager does not watch Rancher's plan secrets")
	}
	drain, err := rancher.DrainOf(ctx, r.Drains, o.upgrade.Namespace, o.upgrade.Spec.MachineName)
	o.drain = &drain
	return err
}

// awaitsDrain is the hold of an attempt until Rancher asks the pre-drain hook in a drain in which the OS can be upgraded. Its host fetches the image meanwhile.
func (a *admission) awaitsDrain() *hold {
	if a.drain == nil || a.drain.MayUpgrade() {
		return nil
	}
	waiting := "waiting for Rancher to drain Node " + a.nodeName()
	if a.order == nil { // or a drain would wait for that
		waiting += rancher.WhenItDrains(a.upgrade.Spec.ClusterName)
	}
	message := cmp.Or(a.unusable("waits for its next drain"), waiting)
	return infrav1.NewHold(infrav1.HoldRancherNotDraining, "Node/"+a.nodeName(), message)
}

// readDrain reads the drain past the cache, which may have a former one.
func (r *Reconciler) readDrain(ctx context.Context, a *admission) error {
	if a.drain == nil {
		return nil
	}
	now, err := rancher.Now(ctx, r.APIReader, *a.drain)
	a.drain = &now
	return err
}

// drainEnded says why the drain for which an attempt took its slot upgrades nothing any more; empty while it may.
func (o *observation) drainEnded() string {
	const then = "starts again with its next drain"
	hasStarted := o.admitted() || attempts.HasEntered(o.upgrade, stepCordon)
	switch {
	case o.drain == nil, !hasStarted, attempts.HasEntered(o.upgrade, stepHandBack):
		return ""
	case !o.drain.IsAsked():
		return "Rancher does not drain Node " + o.nodeName() + " any more: the upgrade " + then
	}
	return o.unusable(then)
}

// unusable says why a drain that Rancher asks for upgrades nothing, and what the upgrade does then; empty if it may, or if none is asked for.
func (o *observation) unusable(then string) string {
	before, after := o.drain.Hooks()
	switch {
	case !o.drain.IsAsked():
	case !before || !after:
		return "Rancher does not ask both hooks in its drain of Node " + o.nodeName() + ": list them in its drain options (docs/rancher.md)"
	case o.drain.IsGivenUp():
		return "what Rancher drains Node " + o.nodeName() + " for was reverted: the upgrade " + then
	}
	return ""
}

// notDraining reads live whether the host may be triggered in this drain. An answer of a former drain has the same value as one
// of this drain, and a cache that lags behind would take the one for the other.
func (r *Reconciler) notDraining(ctx context.Context, o *observation) (*hold, error) {
	if o.drain == nil {
		return nil, nil
	}
	now, err := rancher.Now(ctx, r.APIReader, *o.drain)
	if err != nil || now.MayUpgrade() && now.AsksAfter() {
		return nil, err
	}
	return infrav1.NewHold(infrav1.HoldRancherNotDraining, "Node/"+o.nodeName(),
		"Rancher has not drained Node "+o.nodeName()+", or does not wait for its upgrade any more"), nil
}

// mark records the attempt on a Node that Rancher has cordoned, and who had cordoned it before, which Rancher does not remember. It is cordoned again
// where another client has uncordoned it since: Rancher does not once it is drained.
func (r *Reconciler) mark(ctx context.Context, o *observation) (sequence.Result, error) {
	before := workload.CordonManager(o.node)
	if before == rancher.FieldManager {
		before = ""
	}
	return sequence.Done(), o.workload.MarkCordoned(ctx, o.node, o.attempt, before)
}

// handOver waits until Rancher has drained the Node and upgraded Kubernetes on it. That the step was entered lets Rancher begin: see
// controllers/rancherdrain.
func (r *Reconciler) handOver(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.drain.AsksAfter() {
		return sequence.Done(), nil
	}
	message := "waiting for Rancher to drain Node " + o.node.Name
	if o.drain.IsDrained() {
		message = "waiting for Rancher to upgrade Kubernetes on Node " + o.node.Name
	}
	return await(pollCluster, o.byRancher(message+r.rancherSays(ctx, o))), nil
}

// handBack waits until Rancher has uncordoned the Node. That the step was entered lets Rancher do that.
func (r *Reconciler) handBack(ctx context.Context, o *observation) (sequence.Result, error) {
	if !o.drain.IsAsked() {
		return sequence.Done(), nil
	}
	return await(pollCluster, o.byRancher("waiting for Rancher to uncordon Node "+o.nodeName()+r.rancherSays(ctx, o))), nil
}

// byRancher is the hold of an attempt that waits for what Rancher does.
func (o *observation) byRancher(message string) *hold {
	return infrav1.NewHold(infrav1.HoldRancherNotDone, "Node/"+o.nodeName(), message)
}

// rancherSays is the part of a message with what Rancher reports itself, in its words.
func (r *Reconciler) rancherSays(ctx context.Context, o *observation) string {
	if o.drain.Error != "" {
		return "; Rancher reports: " + o.drain.Error
	}
	controlPlane, err := rancher.ControlPlaneOf(ctx, r.APIReader, o.cluster)
	if err != nil { // it is a part of a message only
		ctrl.LoggerFrom(ctx).V(2).Info("Failed to read the RKEControlPlane", "Cluster", klog.KObj(o.cluster), "reason", err.Error())
	}
	if err != nil || controlPlane == nil || controlPlane.ReadyMessage() == "" {
		return ""
	}
	return "; Rancher reports: " + controlPlane.ReadyMessage()
}

// keepsPods reports whether nothing is drained from the Node by the attempt and its volumes stay attached: it is the only one of its
// cluster.
func (r *Reconciler) keepsPods(ctx context.Context, o *observation) (bool, error) {
	if o.drain == nil {
		return workload.IsMarked(o.node, o.attempt), nil
	}
	return o.workload.IsOnlyNode(ctx)
}
