// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// pointAction is what is done to an owner, in the events API's terms.
const pointAction = "Point"

// waiting is why an owner was not moved.
type waiting struct {
	reason, message string
	// object is the owner, as "Kind/name", and clone what it is pointed to.
	object, clone string
	// paused says that the owner is to stay paused meanwhile.
	paused bool
	// soon says that it is over within moments.
	soon bool
	// byOthers says that no user has to end it, unless it lasts.
	byOthers bool
	// unlooked says that the owner was not looked at in this pass.
	unlooked bool
}

// move points every pending owner to its clone that can be pointed now. What fails for one does not keep the others, and is
// said in the status: the owner may still be paused. Owners that are paused go first, none is paused before all have been looked
// at, and nothing else is looked at while Cluster API is about to answer a pause: none stays paused while the clusters of the
// others, which may be slow, are looked at.
func (r *Reconciler) move(ctx context.Context, seen *observation) (ctrl.Result, error) {
	m := &moves{failed: []error{seen.failed}}
	if seen.failed != nil {
		m.waits = append(m.waits, failure(seen.failed))
	}
	isPaused := func(candidate placed) bool { return owner.PausedFor(candidate) != "" }
	pausedOwners, others := partition(seen.at(pending), isPaused)
	awaited := false
	for _, candidate := range pausedOwners {
		why, err := r.finishOrUnpause(ctx, seen, candidate)
		m.add(candidate)(why, err)
		awaited = awaited || why != nil && why.paused && capiworkaround.AnswerIsDue(ctx, r.Owners, candidate.Owner)
	}
	if awaited {
		for _, candidate := range others {
			why := notQuiet(candidate, "waiting for those that are paused for this template")
			why.unlooked = true
			m.add(candidate)(why, nil)
		}
	} else {
		r.begin(ctx, seen, m, others)
	}
	seen.waits = m.waits
	r.reportMoving(seen, m.waits, m.moved)
	return ctrl.Result{RequeueAfter: retryAfter(m.waits)}, errors.Join(m.failed...)
}

// begin to move owners that are not paused: all are looked at before the first is paused.
func (r *Reconciler) begin(ctx context.Context, seen *observation, m *moves, owners []placed) {
	ready := []placed{}
	for i, ahead := range r.lookAhead(ctx, seen, owners) {
		candidate := owners[i]
		if why, err := r.prepareMove(ctx, seen, candidate, ahead); why != nil || err != nil {
			m.add(candidate)(why, err)
			continue
		}
		ready = append(ready, candidate)
	}
	for _, candidate := range ready {
		m.add(candidate)(r.finishMove(ctx, seen, candidate))
	}
}

// moves are what became of the owners that were to be moved.
type moves struct {
	waits  []waiting
	moved  []string
	failed []error
}

// add what became of an owner.
func (m *moves) add(candidate placed) func(*waiting, error) {
	return func(why *waiting, err error) {
		switch {
		case err != nil:
			err = fmt.Errorf("moving %s: %w", owner.Describe(candidate), err)
			why := failure(err)
			why.object, why.clone, why.byOthers = objectOf(candidate), candidate.clone, apierrors.IsConflict(err)
			m.failed, m.waits = append(m.failed, err), append(m.waits, why)
		case why == nil:
			m.moved = append(m.moved, owner.Describe(candidate))
		default:
			why.object, why.clone = objectOf(candidate), candidate.clone
			m.waits = append(m.waits, *why)
		}
	}
}

// objectOf an owner is what a hold names.
func objectOf(candidate placed) string {
	return strings.Replace(owner.Describe(candidate), " ", "/", 1)
}

func partition(candidates []placed, is func(placed) bool) (those, others []placed) {
	for _, candidate := range candidates {
		if is(candidate) {
			those = append(those, candidate)
		} else {
			others = append(others, candidate)
		}
	}
	return those, others
}

// retryAfter is short where only a quiet point is missing, or something else that lasts no longer. Where none waits, no retry
// is needed: what was moved is seen in its owner.
func retryAfter(waits []waiting) (after time.Duration) {
	for _, why := range waits {
		if why.reason == infrav1.WaitingForQuietPointReason || why.soon {
			return quietRetry
		}
		after = blockedRetry
	}
	return after
}

// finishOrUnpause moves an owner that is paused, and never leaves it paused where it has something else to wait for than
// Cluster API's answer. It is not looked at once more what its nodes would meet: that was done before it was paused, and is done
// before each node is touched.
func (r *Reconciler) finishOrUnpause(ctx context.Context, seen *observation, candidate placed) (*waiting, error) {
	why, err := r.resumeMove(ctx, seen, candidate)
	if err == nil && (why == nil || why.paused) {
		return why, nil
	}
	return why, errors.Join(err, capiworkaround.Unpause(ctx, r.Owners, candidate.Owner))
}

// prepareMove does what else comes before an owner is paused: it looks for a quiet point because what makes the reason may
// take long.
func (r *Reconciler) prepareMove(ctx context.Context, seen *observation, candidate placed, ahead looked) (*waiting, error) {
	switch {
	case ahead.why != nil && ahead.cluster != nil:
		return ahead.why, capiworkaround.LookAgain(ctx, r.Owners, candidate.Owner)
	case ahead.why != nil || ahead.err != nil:
		return ahead.why, ahead.err
	}
	if why, err := r.ensureClone(ctx, seen, candidate.clone, ahead.cluster); why != nil || err != nil {
		return why, err
	}
	return r.checkQuiet(ctx, candidate)
}

func (r *Reconciler) resumeMove(ctx context.Context, seen *observation, candidate placed) (*waiting, error) {
	cluster, why, err := r.clusterOf(ctx, seen, candidate)
	if why != nil || err != nil {
		return why, err
	}
	if why, err := r.ensureClone(ctx, seen, candidate.clone, cluster); why != nil || err != nil {
		return why, err
	}
	return r.finishMove(ctx, seen, candidate)
}

// clusterOf is the Cluster of an owner, or what the owner waits for with it.
func (r *Reconciler) clusterOf(ctx context.Context, seen *observation, candidate placed) (*clusterv1.Cluster, *waiting, error) {
	if candidate.failed != nil {
		return nil, nil, candidate.failed
	}
	cluster := &clusterv1.Cluster{}
	key := client.ObjectKey{Namespace: seen.template.Namespace, Name: candidate.ClusterName()}
	if err := r.Client.Get(ctx, key, cluster); client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("reading Cluster %s: %w", key.Name, err)
	} else if err != nil {
		return nil, waitForCluster("%s waits for Cluster %s to exist", owner.Describe(candidate), key.Name), nil
	}
	if ptr.Deref(cluster.Spec.Paused, false) || owner.IsPausedByOthers(candidate) {
		return nil, waitForCluster("%s is paused, by itself or with Cluster %s", owner.Describe(candidate), key.Name), nil
	}
	return cluster, nil, nil
}

// finishMove pauses an owner, and points it where it is quiet while it is paused, because only that lasts. Its Cluster may have
// been paused while the clusters of others were looked at.
func (r *Reconciler) finishMove(ctx context.Context, seen *observation, candidate placed) (*waiting, error) {
	if _, why, err := r.clusterOf(ctx, seen, candidate); why != nil || err != nil {
		return why, err
	}
	paused, err := capiworkaround.Pause(ctx, r.Owners, candidate.Owner, seen.template.Name)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return refused(candidate, err), nil
	case err != nil:
		return nil, err
	case !paused:
		why := notQuiet(candidate, "waiting for it to report Paused=True")
		why.paused = true
		return why, nil
	}
	if why, err := r.checkQuiet(ctx, candidate); why != nil || err != nil {
		return why, err
	}
	return r.point(ctx, seen, candidate)
}

func (r *Reconciler) checkQuiet(ctx context.Context, candidate placed) (*waiting, error) {
	verdict, err := capiworkaround.Judge(ctx, r.Owners, candidate.Owner)
	if err != nil || verdict.NotQuiet == "" {
		return nil, err
	}
	return notQuiet(candidate, verdict.NotQuiet), capiworkaround.LookAgain(ctx, r.Owners, candidate.Owner)
}

func (r *Reconciler) point(ctx context.Context, seen *observation, candidate placed) (*waiting, error) {
	err := r.Owners.RePoint(ctx, candidate.Owner, owner.TemplateName(candidate), candidate.clone, capiworkaround.EndPause)
	switch {
	case err == nil:
		r.Recorder.Eventf(seen.template, candidate.Object(), corev1.EventTypeNormal, infrav1.EventRolloutStarted, pointAction,
			"Pointed %s to ElementalMachineTemplate %s", owner.Describe(candidate), candidate.clone)
		return nil, nil
	case errors.Is(err, owner.ErrReferenceChanged), errors.Is(err, capiworkaround.ErrNotPaused), apierrors.IsConflict(err):
		return notQuiet(candidate, "another party is changing it"), nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return refused(candidate, err), nil
	}
	return nil, err
}

// refused is what the API server says: whether it was our guard, a policy or a right that is missing, and what to do.
func refused(candidate placed, err error) *waiting {
	message := err.Error()
	if refused := apierrors.APIStatus(nil); errors.As(err, &refused) {
		message = refused.Status().Message
	}
	return &waiting{reason: infrav1.ChangeRefusedReason, message: owner.Describe(candidate) + ": the change was refused: " + shortened(message), soon: apierrors.IsForbidden(err)}
}

func notQuiet(candidate placed, reason string) *waiting {
	return &waiting{reason: infrav1.WaitingForQuietPointReason, message: fmt.Sprintf("%s: %s", owner.Describe(candidate), reason)}
}

func failure(err error) waiting {
	return waiting{reason: infrav1.BlockedReason, message: shortened(strings.ReplaceAll(err.Error(), "\n", "; "))}
}

func waitForCluster(format string, values ...any) *waiting {
	return &waiting{reason: infrav1.WaitingForClusterReason, message: fmt.Sprintf(format, values...)}
}

func messages(waits []waiting) string {
	all := make([]string, 0, len(waits))
	for _, why := range waits {
		all = append(all, why.message)
	}
	return strings.Join(all, "; ")
}
