// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagerules"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// trigger tells the host to go. The steps before it have been found done in this same run; what holds an attempt, and
// virtual machines, are looked for once more, because nothing that is left of them survives what follows.
func (r *Reconciler) trigger(ctx context.Context, o *observation) (sequence.Result, error) {
	if taken, err := r.slotTaken(ctx, o); err != nil || taken != nil {
		return await(pollCluster, taken), err
	}
	if result, err := r.checkNow(ctx, o); err != nil || !result.IsDone() {
		return result, err
	}
	if left, err := r.virtualMachinesOn(ctx, o); err != nil || left != "" {
		return sequence.Wait(pollPods, "%s", left), err
	}
	if held, err := r.stoppedNow(ctx, o); err != nil || held != nil {
		return await(pollCluster, held), err
	}
	forgetReboot(&o.upgrade.Status)
	if err := r.ask(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	return sequence.Done(), nil
}

// slotTaken reads the ElementalCluster again, whose quarantine is looked at next: evacuation and drain may have taken seconds
// since it was read. It is the hold of an attempt that has its slot no more.
func (r *Reconciler) slotTaken(ctx context.Context, o *observation) (taken *hold, err error) {
	o.elementalCluster, err = existing.Get(ctx, r.APIReader, &infrav1.ElementalCluster{}, o.upgrade.Namespace, o.elementalCluster.Name)
	if err != nil || o.admitted() {
		return nil, err
	}
	cluster := o.upgrade.Spec.ClusterName
	return infrav1.NewHold(infrav1.HoldNoSlot, "Cluster/"+cluster, "the upgrade slot of Cluster "+cluster+" was taken back"), nil
}

// stoppedNow is why the host must not be triggered although its node is ready for it: the Cluster is paused, which the cache
// may not know yet, its namespace has opted out, or the owner of the Machine has changed its mind while the node was drained.
func (r *Reconciler) stoppedNow(ctx context.Context, o *observation) (*hold, error) {
	o.owners = existing.Once(r.APIReader)
	for _, look := range []func(context.Context, *observation) (*hold, error){
		r.clusterStopped, silentSinceBoot, r.optedOut, r.rollingOut, r.notDraining, r.notDesired,
	} {
		held, err := look(ctx, o)
		if err != nil || held == nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		held.Message = "ElementalHost " + o.host.Name + " is not triggered: " + held.Message
		return held, nil
	}
	return nil, nil
}

func (r *Reconciler) clusterStopped(ctx context.Context, o *observation) (*hold, error) {
	name := o.upgrade.Spec.ClusterName
	cluster, err := existing.Get(ctx, r.APIReader, &clusterv1.Cluster{}, o.upgrade.Namespace, name)
	switch {
	case err != nil:
		return nil, err
	case cluster == nil:
		return infrav1.NewHold(infrav1.HoldBrokenReferences, "Cluster/"+name, "Cluster "+name+" is gone"), nil
	case ptr.Deref(cluster.Spec.Paused, false):
		return infrav1.NewHold(infrav1.HoldClusterPaused, "Cluster/"+name, "Cluster "+name+" is paused"), nil
	}
	return nil, nil
}

func silentSinceBoot(_ context.Context, o *observation) (*hold, error) {
	if o.host.Status.OS.BootID != "" {
		return nil, nil
	}
	return infrav1.NewHold(infrav1.HoldHostNotReporting, "ElementalHost/"+o.host.Name, "it has not reported the boot that it is in"), nil
}

// optedOut is the hold of a namespace that has not opted in. Where Rancher drains the Node, it asks for the upgrade by hooks that a user has listed.
func (r *Reconciler) optedOut(ctx context.Context, o *observation) (*hold, error) {
	if o.drain != nil {
		return nil, nil
	}
	why, err := r.Namespaces.NotOptedIn(ctx, o.upgrade.Namespace)
	return unlessEmpty(why, infrav1.HoldNamespaceNotOptedIn, "Namespace/"+o.upgrade.Namespace), err
}

// notDesired reads once more what the owner of the Machine wants. The next reconcile ends an attempt that is not wanted any more.
func (r *Reconciler) notDesired(ctx context.Context, o *observation) (*hold, error) {
	if err := o.requiresLive(); err != nil {
		return nil, err
	}
	why := r.unwantedNow(ctx, o)
	reason := o.unknownReason()
	if o.superseded() {
		reason = infrav1.HoldNoLongerDesired
	}
	return unlessEmpty(why, reason, "Machine/"+o.upgrade.Spec.MachineName), nil
}

// rollingOut is the hold of a Machine that Cluster API does not update in place, and that its owner may be about to replace, or is to replace within the time
// that its node may take to serve again. The Machine was read by this reconcile.
func (r *Reconciler) rollingOut(ctx context.Context, o *observation) (*hold, error) {
	if owner.IsUpdating(o.machine) {
		return nil, nil
	}
	controllers, err := owner.ControllersOf(ctx, o.owners, o.machine)
	if err != nil {
		return nil, err
	}
	return o.rollingOut(controllers), nil
}

// rollingOut is the hold by what controls the Machine.
func (o *observation) rollingOut(controllers owner.Controllers) *hold {
	within := o.options.Timeouts.Disruption()
	if o.admitted() { // and drained
		within = o.options.Timeouts.Return()
	}
	why := controllers.RollsOut(o.machine, o.now.Add(within))
	if why == "" {
		return nil
	}
	return infrav1.NewHold(infrav1.HoldOwnerRollingOut, "Machine/"+o.upgrade.Spec.MachineName,
		why+". Revert that change, or set spec.cancel of this ElementalHostUpgrade")
}

// unwantedNow reads once more what the owner of the Machine wants, and says why that is not this attempt's OS, or not known to
// be. The next reconcile ends an attempt that is not wanted any more.
func (r *Reconciler) unwantedNow(ctx context.Context, o *observation) string {
	r.readWantedFrom(ctx, o, o.owners)
	if o.superseded() {
		_, why := o.unwanted()
		return why
	}
	return o.wantUnknown()
}

// forgetReboot starts the time-outs of the reboot and of the assessment anew: they count from the trigger that is in force.
func forgetReboot(status *infrav1.ElementalHostUpgradeStatus) {
	forget(status, stepReboot)
	forget(status, stepAssess)
}

// dropVoidTrigger takes a trigger back that is void, or that a host has not followed whose node accepts Pods again. The steps then run from the
// first one: what they had done may have been undone since.
func (r *Reconciler) dropVoidTrigger(ctx context.Context, o *observation) error {
	why := ""
	switch {
	case o.isVoid():
		why = "is not for the boot that it is in: its node"
	case o.isReopened():
		why = "is for a node that was uncordoned since: it"
	default:
		return nil
	}
	if err := r.revokeTrigger(ctx, o); err != nil {
		return err
	}
	forgetReboot(&o.upgrade.Status)
	r.Recorder.Eventf(o.upgrade, nil, "Normal", infrav1.EventUpgradeStep, stepTrigger,
		"the trigger of ElementalHost %s %s is drained again before it is triggered again", o.host.Name, why)
	return nil
}

// revokeTrigger takes the trigger of the attempt from its host, which keeps the attempt.
func (r *Reconciler) revokeTrigger(ctx context.Context, o *observation) error {
	return r.patchHost(ctx, o, "taking the trigger from", removeTrigger)
}

// removeTrigger removes the trigger of the attempt that a host is asked for.
func removeTrigger(host *infrav1.ElementalHost) {
	host.Spec.Upgrade.TriggeredFor = nil
	delete(host.Labels, infrav1.InPlaceUpgradeLabel)
}

// ask gives the host the attempt and its trigger, and keeps the host where it is until that is over.
func (r *Reconciler) ask(ctx context.Context, o *observation) error {
	return r.patchHost(ctx, o, "triggering", func(host *infrav1.ElementalHost) {
		host.Spec.Upgrade = o.request()
		host.Spec.Upgrade.TriggeredFor = new(hoststate.PresentBoot(host))
		if host.Labels == nil {
			host.Labels = map[string]string{}
		}
		host.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending
		delete(host.Annotations, infrav1.LastAttemptAnnotation) // the host runs what was installed by hand no more
		setBlockMove(host)
	})
}

// offer asks the host to prepare for the attempt.
func (r *Reconciler) offer(ctx context.Context, o *observation) error {
	triggered := o.triggered()
	return r.patchHost(ctx, o, "offering the attempt to", func(host *infrav1.ElementalHost) {
		host.Spec.Upgrade = o.request()
		if !triggered {
			// The outcome that an upgrade by hand has left would be read as this one's, and a trigger that a person
			// set before would set the host off before its node is drained.
			delete(host.Labels, infrav1.InPlaceUpgradeLabel)
			delete(host.Labels, infrav1.InPlaceUpdateLabel)
		}
	})
}

// dropForeignTrigger takes a trigger away that a person set. From here on the attempt owns the label:
// whatever the host is to run next, it would go off undrained.
func (r *Reconciler) dropForeignTrigger(ctx context.Context, o *observation) error {
	if asked := o.host.Spec.Upgrade; o.rival != nil || asked != nil && asked.Attempt != o.attempt {
		return nil // it is another attempt's
	}
	return r.patchHost(ctx, o, "taking the trigger from", func(host *infrav1.ElementalHost) {
		for _, label := range []string{infrav1.InPlaceUpgradeLabel, infrav1.InPlaceUpdateLabel} {
			if host.Labels[label] == infrav1.InPlaceUpgradePending {
				delete(host.Labels, label)
			}
		}
	})
}

// request is what the host is asked for.
func (o *observation) request() *infrav1.HostUpgradeRequest {
	return &infrav1.HostUpgradeRequest{
		Attempt:             o.attempt,
		Digest:              o.digest(),
		ImageVerification:   imagerules.Governing(o.elementalCluster, o.host),
		Prefetch:            o.options.Prefetch,
		OSVersionManagement: o.upgrade.Spec.OSVersionManagement,
	}
}

// withdraw takes the attempt back from the host, but not its outcome. Whether the host has begun in the
// meantime is known only when it has answered: see takeBack. From a host that has gone meanwhile there is nothing to take.
func (r *Reconciler) withdraw(ctx context.Context, o *observation) error {
	return client.IgnoreNotFound(r.patchHost(ctx, o, "withdrawing the attempt from", func(host *infrav1.ElementalHost) {
		if host.Spec.Upgrade == nil || host.Spec.Upgrade.Attempt != o.attempt {
			return
		}
		host.Spec.Upgrade = nil
		if host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending {
			delete(host.Labels, infrav1.InPlaceUpgradeLabel)
		}
		delete(host.Annotations, infrav1.BlockMoveAnnotation)
	}))
}

// patchHost writes a change of the host if it is one, with the resourceVersion that was read: the
// trigger must not be given, or taken, on the ground of a stale read.
func (r *Reconciler) patchHost(ctx context.Context, o *observation, doing string, change func(*infrav1.ElementalHost)) error {
	if o.host == nil {
		return nil
	}
	before := o.host.DeepCopy()
	change(o.host)
	if equality.Semantic.DeepEqual(before, o.host) {
		return nil
	}
	if err := o.requiresLive(); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, o.host, patch); err != nil {
		return fmt.Errorf("%s ElementalHost %s: %w", doing, o.host.Name, err)
	}
	return nil
}
