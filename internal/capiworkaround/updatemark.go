// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// lostMarkPatience is how long the marks of a Machine have to contradict one another before they count as
// lost: Cluster API writes them one after the other.
const lostMarkPatience = 5 * time.Second

// Update is an update in place of one Machine.
type Update struct {
	// Owner is the Machine, which Machine belongs to.
	Owner   *clusterv1.Machine
	Machine *infrav1.ElementalMachine
	// Host that serves the machine.
	Host *infrav1.ElementalHost
	// Template that the machine was last made from or updated to. Nil if it is gone.
	Template *infrav1.ElementalMachineTemplate
}

// UpdateMarks finds updates that nothing marks any more.
type UpdateMarks struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server: the cache lags behind.
	Live client.Reader
	// Clock tells how long ago a mark was written.
	Clock clock.PassiveClock
}

// Restore gives a Machine the mark of an update back that was lost before the update came to its
// end. Without it the hook is not called, and Cluster API believes that the Machine is up to date.
//
// Cluster API loses it by itself: when an update in place completes, its Machine controller takes the mark
// update-in-progress off twice: at once, and again with the patch at the end of the same reconcile, which carries no
// resourceVersion. If the owner wants another template by then, which is how a bad image is got over, the MachineSet
// controller has often set the mark for the next update in between. The second patch takes that one off, the update never
// begins, and the owner waits for it for ever. On a busy machine it takes all marks of the next update with it.
//
// A person can take the mark off, too. Cluster API then cleans up what else marks the update, and goes on with
// the next Machine as if this one had been updated.
//
// It reports whether it has restored the mark. after is when to look again, where it is too early to tell whether the mark is lost.
func (u UpdateMarks) Restore(ctx context.Context, of Update) (restored bool, after time.Duration, err error) {
	seen := marks{Update: of, isDirect: isDirect(of)}
	if lost, err := seen.lost(ctx, u.Client); err != nil || !lost {
		return false, 0, err
	}
	now, lost, err := u.lostNow(ctx, seen)
	if err != nil || !lost {
		return false, 0, err
	}
	if left := observed.Left(lostMarkPatience, lastWritten(now.Owner, now.Machine), u.Clock.Now()); left > 0 {
		return false, left, nil
	}
	ctrl.LoggerFrom(ctx).Info("Restoring the mark of an update in place that was lost", "Machine", klog.KObj(now.Owner))
	before := now.Owner.DeepCopy()
	annotations.AddAnnotations(now.Owner, map[string]string{clusterv1.UpdateInProgressAnnotation: ""})
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := u.Client.Patch(ctx, now.Owner, patch); err != nil {
		return false, 0, fmt.Errorf("restoring the update mark of Machine %s: %w", now.Owner.Name, err)
	}
	return true, 0, nil
}

// isDirect reports whether this provider has brought a machine to what it specifies, or is bringing it to the template that it was made from. Where it has
// brought it to another template, Cluster API has moved it on since.
func isDirect(of Update) bool {
	specified := osversion.Hash(of.Machine.Spec.OSVersionManagement)
	isNoted := owner.NotedOS(of.Machine) == specified
	switch {
	case !owner.IsLeftToDirect(of.Owner, of.Machine):
		return false
	case owner.NotedTemplate(of.Machine) != owner.MadeFrom(of.Machine):
		return isNoted
	case owner.NotedRollout(of.Machine) != "":
		return true
	}
	// Where Cluster API has brought the machine to another template and back, its host has reached another OS since. What is not noted, a user has specified.
	reached := owner.ReachedOS(of.Machine)
	return !isNoted || reached == "" || reached == specified
}

// lostNow is lost by live reads: the cache lags behind, and keeps no record of who wrote what when.
func (u UpdateMarks) lostNow(ctx context.Context, seen marks) (now marks, lost bool, err error) {
	now = marks{Update: Update{Owner: &clusterv1.Machine{}, Machine: &infrav1.ElementalMachine{}, Host: seen.Host, Template: seen.Template}}
	if err := u.Live.Get(ctx, client.ObjectKeyFromObject(seen.Owner), now.Owner); err != nil {
		return now, false, client.IgnoreNotFound(err)
	}
	if err := u.Live.Get(ctx, client.ObjectKeyFromObject(seen.Machine), now.Machine); err != nil {
		return now, false, client.IgnoreNotFound(err)
	}
	if err := u.compare(ctx, &now); err != nil {
		return now, false, err
	}
	now.isDirect = isDirect(now.Update)
	lost, err = now.lost(ctx, u.Live)
	return now, lost && now.Owner.DeletionTimestamp.IsZero(), err
}

// compare what the machine asks for with what is wanted of it by now.
func (u UpdateMarks) compare(ctx context.Context, of *marks) error {
	want, known, err := owner.WantsOS(ctx, u.Live, of.Owner)
	of.overtaken = known && !osversion.Same(want.OSVersionManagement, of.Machine.Spec.OSVersionManagement)
	of.movesOn = of.overtaken || known && want.TemplateName != owner.MadeFrom(of.Machine)
	return err
}

// marks are what says that a Machine is being updated, and what the update is about.
type marks struct {
	Update
	// overtaken says that the owner is known to want another OS by now than the machine asks for. The hook says done of such a machine without
	// an attempt, so that Cluster API goes on to what is wanted: the mark would come back for ever. It is known only where it was read live.
	overtaken bool
	// movesOn says the same, or that it wants the OS of another template. The hook says done of a superseded attempt then. It is known only
	// where it was read live.
	movesOn bool
	// isDirect says that Cluster API was not to bring the machine to what it specifies: without any mark nothing is lost.
	isDirect bool
	// pinned is the digest that the rollout resolved the machine's image to; empty if it did not.
	pinned string
}

// lost reports whether the update of a Machine has not come to its end, and nothing says so any more.
func (m marks) lost(ctx context.Context, reader client.Reader) (bool, error) {
	on := m.Owner.ObjectMeta
	if owner.IsUpdating(m.Owner) || metav1.HasAnnotation(on, runtimev1.PendingHooksAnnotation) {
		return false, nil
	}
	if metav1.HasAnnotation(on, clusterv1.PendingAcknowledgeMoveAnnotation) ||
		owner.IsUpdating(m.Machine) {
		return true, nil
	}
	if m.isDirect {
		return false, nil
	}
	return m.abandoned(ctx, reader)
}

// abandoned reports whether the attempt to bring the machine to the OS it asks for has not ended well. The
// hook has not said done of it then: it does so of one that succeeded, of one that was superseded, unless its OS is wanted again, and
// where the host runs the OS in spite of all.
func (m marks) abandoned(ctx context.Context, reader client.Reader) (bool, error) {
	if osversion.Hash(m.Machine.Spec.OSVersionManagement) == "" {
		return false, nil
	}
	var attempt *infrav1.ElementalHostUpgrade
	var err error
	if attempt, m.pinned, err = m.lastAttempt(ctx, reader); err != nil {
		return false, err
	}
	if attempt == nil {
		return !m.overtaken && m.neverBegun(), nil
	}
	switch attempt.PhaseNow() {
	case infrav1.UpgradeSucceeded:
		return false, nil
	case infrav1.UpgradeSuperseded:
		return !m.movesOn && m.neverBegun(), nil
	case infrav1.UpgradeRolledBack, infrav1.UpgradeFailed, infrav1.UpgradeAborted:
		return m.runsOther(attempt), nil
	case "", infrav1.UpgradePending, infrav1.UpgradeProgressing, infrav1.UpgradeHostLost:
	}
	return true, nil
}

// lastAttempt to bring the machine to the OS it asks for: that of the rollout, with its digest, or, where none is current, the last one; nil if there is none.
func (m marks) lastAttempt(ctx context.Context, reader client.Reader) (attempt *infrav1.ElementalHostUpgrade, pinned string, err error) {
	namespace, template, wanted := m.Machine.Namespace, owner.MadeFrom(m.Machine), m.Machine.Spec.OSVersionManagement
	rollouts, err := rollout.OfTemplate(ctx, reader, namespace, template)
	if err != nil {
		return nil, "", err
	}
	if of := rollout.Current(rollouts, m.Owner.Spec.ClusterName, wanted); of != nil {
		attempt, err = attempts.OfRollout(ctx, reader, client.ObjectKeyFromObject(m.Owner), of.Name)
		return attempt, of.Spec.ImageDigest, err
	}
	all := &infrav1.ElementalHostUpgradeList{}
	if err := reader.List(ctx, all, client.InNamespace(namespace), client.MatchingFields{attempts.ByMachine: m.Owner.Name}); err != nil {
		return nil, "", fmt.Errorf("listing the ElementalHostUpgrades of Machine %s: %w", m.Owner.Name, err)
	}
	return attempts.LastUpdate(all.Items, template, wanted), "", nil
}

// neverBegun is NeverBegun, but for a host that runs the digest to which the image was resolved, of which the hook says done, too.
func (m marks) neverBegun() bool {
	return NeverBegun(m.Machine, m.Template, m.Host) && (m.pinned == "" || m.Host.Status.OS.Digest != m.pinned)
}

// NeverBegun reports whether the template gave a machine another OS than its host had reached, and the host does not run it.
// An update that loses all of its marks before the hook is called leaves no attempt behind either.
func NeverBegun(machine *infrav1.ElementalMachine, template *infrav1.ElementalMachineTemplate, host *infrav1.ElementalHost) bool {
	wanted, reached := machine.Spec.OSVersionManagement, owner.ReachedOS(machine)
	return reached != "" && reached != osversion.Hash(wanted) &&
		template != nil && osversion.Same(osversion.OfTemplate(template), wanted) &&
		host != nil && hoststate.Runs(host, wanted) == hoststate.MatchOther
}

// RecordReached notes that the host runs what the machine asks for.
func RecordReached(machine *infrav1.ElementalMachine, host *infrav1.ElementalHost) {
	hash := osversion.Hash(machine.Spec.OSVersionManagement)
	if hash == "" || !hoststate.Bootstrapped(host) || hoststate.Runs(host, machine.Spec.OSVersionManagement) != hoststate.MatchSame {
		return
	}
	owner.RecordReached(machine)
}

// runsOther reports whether the host certainly runs something else than an attempt was for. A digest that is
// the same counts, as it does for the hook.
func (m marks) runsOther(attempt *infrav1.ElementalHostUpgrade) bool {
	booted := m.Host.Status.OS.Digest
	return hoststate.Runs(m.Host, m.Machine.Spec.OSVersionManagement) == hoststate.MatchOther &&
		(booted == "" || booted != attempt.Status.Digest && booted != m.pinned)
}

// lastWritten is when one of the objects was last written by any client. Status does not count: it is
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
