// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// pointAction is what is done to an owner, in the events API's terms.
const pointAction = "Point"

// waiting is why an owner was not moved.
type waiting struct {
	reason, message string
	// held says that the owner is to stay held meanwhile.
	held bool
}

// move points every pending owner to its clone that can be pointed now. What fails for one does not keep the others, and is
// said in the status: the owner may still be held.
func (r *Reconciler) move(ctx context.Context, seen *observation) (ctrl.Result, error) {
	held, moved, failed := []waiting{}, []string{}, []error{seen.failed}
	if seen.failed != nil {
		held = append(held, failure(seen.failed))
	}
	for _, candidate := range heldFirst(seen.at(pending)) {
		why, err := r.moveOrRelease(ctx, seen, candidate)
		switch {
		case err != nil:
			err = fmt.Errorf("moving %s: %w", owner.Describe(candidate), err)
			failed, held = append(failed, err), append(held, failure(err))
		case why == nil:
			moved = append(moved, owner.Describe(candidate))
		default:
			held = append(held, *why)
		}
	}
	r.reportMoving(seen, held, moved)
	return ctrl.Result{RequeueAfter: retryAfter(held)}, errors.Join(failed...)
}

// heldFirst puts the owners first that Cluster API leaves alone for us: they do not wait until the clusters of the others,
// which may be slow, have been looked at.
func heldFirst(candidates []placed) []placed {
	isHeld := func(candidate placed) bool { return owner.HeldFor(candidate) != "" }
	return slices.Concat(
		slices.DeleteFunc(slices.Clone(candidates), func(candidate placed) bool { return !isHeld(candidate) }),
		slices.DeleteFunc(slices.Clone(candidates), isHeld))
}

// retryAfter is short where only a quiet point is missing. Nothing held back needs no retry: what was
// moved is seen in its owner.
func retryAfter(held []waiting) (after time.Duration) {
	for _, why := range held {
		if why.reason == infrav1.WaitingForQuietPointReason {
			return quietRetry
		}
		after = blockedRetry
	}
	return after
}

// moveOrRelease never leaves an owner held that has something else to wait for than Cluster API's answer.
func (r *Reconciler) moveOrRelease(ctx context.Context, seen *observation, candidate placed) (*waiting, error) {
	why, err := r.moveOwner(ctx, seen, candidate)
	if err == nil && (why == nil || why.held) || owner.HeldFor(candidate) == "" {
		return why, err
	}
	return why, errors.Join(err, r.Owners.Release(ctx, candidate.Owner))
}

func (r *Reconciler) moveOwner(ctx context.Context, seen *observation, candidate placed) (*waiting, error) {
	if candidate.failed != nil {
		return nil, candidate.failed
	}
	cluster := &clusterv1.Cluster{}
	key := client.ObjectKey{Namespace: seen.template.Namespace, Name: candidate.ClusterName()}
	if err := r.Client.Get(ctx, key, cluster); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Cluster %s: %w", key.Name, err)
	} else if err != nil {
		return waitForCluster("%s waits for Cluster %s to exist", owner.Describe(candidate), key.Name), nil
	}
	if ptr.Deref(cluster.Spec.Paused, false) || owner.IsPausedByOthers(candidate) {
		return waitForCluster("%s is paused, by itself or with Cluster %s", owner.Describe(candidate), key.Name), nil
	}
	if why := r.preflight(ctx, seen, candidate); why != nil {
		return why, r.Owners.LookAgain(ctx, candidate.Owner)
	}
	if why, err := r.ensureClone(ctx, seen, candidate, cluster); why != nil || err != nil {
		return why, err
	}
	if why, err := r.awaitQuiet(ctx, seen, candidate); why != nil || err != nil {
		return why, err
	}
	return r.point(ctx, seen, candidate)
}

// awaitQuiet looks for a quiet point before the owner is held, because what makes the reason may take long, and again
// while it is, because only that lasts.
func (r *Reconciler) awaitQuiet(ctx context.Context, seen *observation, candidate placed) (*waiting, error) {
	if owner.HeldFor(candidate) == "" {
		if why, err := r.listen(ctx, candidate); why != nil || err != nil {
			return why, err
		}
	}
	held, err := r.Owners.Hold(ctx, candidate.Owner, seen.template.Name)
	switch {
	case apierrors.IsForbidden(err):
		return notQuiet(candidate, refusal(err)), nil
	case err != nil:
		return nil, err
	case !held:
		why := notQuiet(candidate, "waiting for it to report Paused=True")
		why.held = true
		return why, nil
	}
	return r.listen(ctx, candidate)
}

func (r *Reconciler) listen(ctx context.Context, candidate placed) (*waiting, error) {
	reason, err := r.Owners.QuietPoint(ctx, candidate.Owner)
	if err != nil || reason == "" {
		return nil, err
	}
	return notQuiet(candidate, reason), r.Owners.LookAgain(ctx, candidate.Owner)
}

func (r *Reconciler) point(ctx context.Context, seen *observation, candidate placed) (*waiting, error) {
	err := r.Owners.RePoint(ctx, candidate.Owner, owner.TemplateName(candidate), candidate.clone)
	switch {
	case err == nil:
		r.Recorder.Eventf(seen.template, candidate.Object(), corev1.EventTypeNormal, infrav1.EventRolloutStarted, pointAction,
			"Pointed %s to ElementalMachineTemplate %s", owner.Describe(candidate), candidate.clone)
		return nil, nil
	case errors.Is(err, owner.ErrReferenceChanged), errors.Is(err, owner.ErrNotHeld), apierrors.IsConflict(err):
		return notQuiet(candidate, "somebody else is changing it"), nil
	case apierrors.IsForbidden(err):
		return notQuiet(candidate, refusal(err)), nil
	}
	return nil, err
}

// refusal is what the API server says: whether it was our guard, somebody's policy or a right that is missing, and
// what to do.
func refusal(err error) string {
	if refused := apierrors.APIStatus(nil); errors.As(err, &refused) {
		return "the change was refused: " + shortened(refused.Status().Message)
	}
	return "the change was refused: " + shortened(err.Error())
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

func messages(held []waiting) string {
	all := make([]string, 0, len(held))
	for _, why := range held {
		all = append(all, why.message)
	}
	return strings.Join(all, "; ")
}
