// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// lostMarkPatience is how long the marks of a Machine have to contradict one another before they count as
// lost: Cluster API writes them one after the other.
const lostMarkPatience = 5 * time.Second

// restoreUpdateMark gives a Machine the mark of an update back that was lost before the update came to its
// end. Without it the hook is not called, and Cluster API believes that the Machine is up to date.
//
// Cluster API loses it by itself: when an update in place completes, the Machine controller of Cluster API
// 1.14.2 takes the mark update-in-progress off twice: at once, and again with the patch at the end of the
// same reconcile, which carries no resourceVersion. If the owner wants another template by then, which is
// how a bad image is got over, the MachineSet controller has often set the mark for the next update in
// between. The second patch takes that one off, the update never begins, and the owner waits for it for
// ever.
//
// On a busy machine it takes all marks of the next update with it. A person can take the mark off, too. Cluster API then cleans up what else marks the update, and goes on with
// the next Machine as if this one had been updated.
func (r *Reconciler) restoreUpdateMark(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.owner == nil {
		return ctrl.Result{}, nil
	}
	template, err := r.clonedFrom(ctx, s.machine)
	if err != nil {
		return ctrl.Result{}, err
	}
	seen := marks{owner: s.owner, machine: s.machine, host: s.host, template: template}
	if lost, err := seen.lost(ctx, r.Client); err != nil || !lost {
		return ctrl.Result{}, err
	}
	now, lost, err := r.lostNow(ctx, seen)
	if err != nil || !lost {
		return ctrl.Result{}, err
	}
	if left := lostMarkPatience - r.Clock.Since(lastWritten(now.owner, now.machine)); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	ctrl.LoggerFrom(ctx).Info("Restoring the mark of an update in place that was lost", "Machine", klog.KObj(now.owner))
	before := now.owner.DeepCopy()
	annotations.AddAnnotations(now.owner, map[string]string{clusterv1.UpdateInProgressAnnotation: ""})
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, now.owner, patch); err != nil {
		return ctrl.Result{}, fmt.Errorf("restoring the update mark of Machine %s: %w", now.owner.Name, err)
	}
	return ctrl.Result{}, nil
}

// lostNow is lost by live reads: the cache lags behind, and keeps no record of who wrote what when.
func (r *Reconciler) lostNow(ctx context.Context, seen marks) (now marks, lost bool, err error) {
	now = marks{owner: &clusterv1.Machine{}, machine: &infrav1.ElementalMachine{}, host: seen.host, template: seen.template}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(seen.owner), now.owner); err != nil {
		return now, false, client.IgnoreNotFound(err)
	}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(seen.machine), now.machine); err != nil {
		return now, false, client.IgnoreNotFound(err)
	}
	if now.overtaken, err = r.overtaken(ctx, now); err != nil {
		return now, false, err
	}
	lost, err = now.lost(ctx, r.APIReader)
	return now, lost && now.owner.DeletionTimestamp.IsZero(), err
}

// overtaken says whether the owner is known to want another OS by now than the machine asks for. The hook says done of such
// a machine without an attempt, so that Cluster API goes on to what is wanted: the mark would come back for ever.
func (r *Reconciler) overtaken(ctx context.Context, of marks) (bool, error) {
	want, known, err := (&owner.Owners{Live: r.APIReader}).WantsOSNow(ctx, of.owner)
	return known && !osversion.Same(want.OSVersionManagement, of.machine.Spec.OSVersionManagement), err
}

// marks are what says that a Machine is being updated, and what the update is about.
type marks struct {
	owner   *clusterv1.Machine
	machine *infrav1.ElementalMachine
	host    *infrav1.ElementalHost
	// template that the machine was last made from or updated to. Nil if it is gone.
	template *infrav1.ElementalMachineTemplate
	// overtaken is known only where it was read live.
	overtaken bool
}

// pinned is the digest that the rollout resolved the image to, if it did.
func (m marks) pinned() string {
	if m.template == nil {
		return ""
	}
	return m.template.Annotations[infrav1.RolloutDigestAnnotation]
}

// lost says whether the update of a Machine has not come to its end, and nothing says so any more.
func (m marks) lost(ctx context.Context, reader client.Reader) (bool, error) {
	set := m.owner.Annotations
	if has(set, clusterv1.UpdateInProgressAnnotation) || has(set, runtimev1.PendingHooksAnnotation) {
		return false, nil
	}
	if has(set, clusterv1.PendingAcknowledgeMoveAnnotation) || has(m.machine.Annotations, clusterv1.UpdateInProgressAnnotation) {
		return true, nil
	}
	return m.abandoned(ctx, reader)
}

// abandoned says whether the attempt to bring the machine to the OS it asks for has not ended well. The
// hook has not said done of it then: it does so of one that succeeded, of one that was superseded, and
// where the host runs the OS in spite of all.
func (m marks) abandoned(ctx context.Context, reader client.Reader) (bool, error) {
	hash := osversion.Hash(m.machine.Spec.OSVersionManagement)
	if hash == "" {
		return false, nil
	}
	attempt := &infrav1.ElementalHostUpgrade{}
	key := client.ObjectKey{Namespace: m.machine.Namespace, Name: rollout.UpgradeName(m.owner.Name, templateName(m.machine), hash)}
	if err := reader.Get(ctx, key, attempt); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return !m.overtaken && neverBegun(m.machine, m.template, m.host), nil
		}
		return false, fmt.Errorf("reading ElementalHostUpgrade %s: %w", key.Name, err)
	}
	switch attempt.PhaseNow() {
	case infrav1.UpgradeSucceeded, infrav1.UpgradeSuperseded:
		return false, nil
	case infrav1.UpgradeRolledBack, infrav1.UpgradeFailed, infrav1.UpgradeAborted:
		return m.runsOther(attempt), nil
	case "", infrav1.UpgradePending, infrav1.UpgradeProgressing, infrav1.UpgradeHostLost:
	}
	return true, nil
}

// neverBegun says whether the template gave a machine another OS than its host had reached, and the host does not run it.
// An update that loses all of its marks before the hook is called leaves no attempt behind either.
func neverBegun(machine *infrav1.ElementalMachine, template *infrav1.ElementalMachineTemplate, host *infrav1.ElementalHost) bool {
	wanted, reached := machine.Spec.OSVersionManagement, machine.Annotations[infrav1.OSReachedAnnotation]
	return reached != "" && reached != osversion.Hash(wanted) &&
		template != nil && osversion.Same(templateOS(template), wanted) &&
		host != nil && hoststate.Runs(host, wanted) == hoststate.MatchOther
}

// recordReached notes that the host runs what the machine asks for.
func recordReached(machine *infrav1.ElementalMachine, host *infrav1.ElementalHost) {
	hash := osversion.Hash(machine.Spec.OSVersionManagement)
	if hash == "" || !hoststate.Bootstrapped(host) || hoststate.Runs(host, machine.Spec.OSVersionManagement) != hoststate.MatchSame {
		return
	}
	annotations.AddAnnotations(machine, map[string]string{infrav1.OSReachedAnnotation: hash})
}

// runsOther says whether the host certainly runs something else than an attempt was for. A digest that is
// the same counts, as it does for the hook.
func (m marks) runsOther(attempt *infrav1.ElementalHostUpgrade) bool {
	booted := m.host.Status.OS.Digest
	return hoststate.Runs(m.host, m.machine.Spec.OSVersionManagement) == hoststate.MatchOther &&
		(booted == "" || booted != attempt.Status.Digest && booted != m.pinned())
}

func has(annotations map[string]string, key string) bool {
	_, found := annotations[key]
	return found
}

// lastWritten is when one of the objects was last written by anybody. Status does not count: it is
// written all the time.
func lastWritten(objects ...client.Object) time.Time {
	last := time.Time{}
	for _, object := range objects {
		for _, entry := range object.GetManagedFields() {
			if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
				last = entry.Time.Time
			}
		}
	}
	return last
}
