// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// pauseRest is how long Cluster API goes on at least between two pauses, so that what keeps a reference from being changed,
// a policy for one, does not keep it from everything else.
const pauseRest = 5 * time.Second

// ErrNotPaused says that Cluster API may act on a MachineDeployment whose reference is to be changed.
var ErrNotPaused = errors.New("it is not paused")

// Pause has Cluster API leave an owner alone until EndPause or Unpause, and reports whether it does so by now. While a
// rollout is under way, Cluster API may take the next Machine from a MachineSet at any moment, also between a look that
// finds it quiet and the change of the reference: it would then lose count of that Machine, make another one, and delete
// the one that works. What it has begun goes on while it is paused; only nothing new begins.
//
// A MachineDeployment is paused by Cluster API's annotation, with a value that names the template; see owner.PausedFor.
// That it is True in condition Paused is the answer, so it must not be True before. A control plane does not count its
// Machines by sets, and needs no pause.
func Pause(ctx context.Context, owners *owner.Owners, of owner.Owner, template string) (paused bool, err error) {
	fresh, err := owners.Reload(ctx, of)
	if err != nil {
		return false, err
	}
	md, isMachineDeployment := fresh.Object().(*clusterv1.MachineDeployment)
	switch {
	case !isMachineDeployment:
		return true, nil
	case owner.PausedFor(fresh) == template:
		return hasPaused(md), nil
	case annotations.HasPaused(md), !hasRested(owners, md):
		return false, nil
	}
	base := md.DeepCopy()
	annotations.AddAnnotations(md, map[string]string{clusterv1.PausedAnnotation: infrav1.RolloutHoldPrefix + template})
	err = patchPause(ctx, owners, md, base, "pausing")
	if apierrors.IsConflict(err) {
		return false, nil // the next look tells
	}
	return false, err
}

// AnswerIsDue reports whether Cluster API can be expected to answer a pause at any moment: it does within seconds unless its
// controller is kept by an error. It reads the owner live, because the cache does not keep when what was written. One that cannot
// be read is not waited for.
func AnswerIsDue(ctx context.Context, owners *owner.Owners, of owner.Owner) bool {
	fresh, err := owners.Reload(ctx, of)
	return err == nil && writtenRecently(owners, fresh.Object())
}

// Unpause undoes Pause, where the reference is not to be changed after all. It looks again after a conflict, since no event need follow: Cluster API
// writes the status at the same time.
func Unpause(ctx context.Context, owners *owner.Owners, of owner.Owner) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { return unpause(ctx, owners, of) })
}

func unpause(ctx context.Context, owners *owner.Owners, of owner.Owner) error {
	fresh, err := owners.Reload(ctx, of)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	md, isMachineDeployment := fresh.Object().(*clusterv1.MachineDeployment)
	if !isMachineDeployment || owner.PausedFor(fresh) == "" {
		return nil
	}
	base := md.DeepCopy()
	delete(md.Annotations, clusterv1.PausedAnnotation)
	return patchPause(ctx, owners, md, base, "unpausing")
}

// EndPause is for owner.RePoint: in the write that changes the reference of an owner it ends the pause as well. It fails
// with ErrNotPaused where Cluster API has not said that it leaves the owner alone.
func EndPause(of owner.Owner) error {
	md, isMachineDeployment := of.Object().(*clusterv1.MachineDeployment)
	if !isMachineDeployment {
		return nil
	}
	if !hasPaused(md) {
		return ErrNotPaused
	}
	delete(md.Annotations, clusterv1.PausedAnnotation)
	return nil
}

// patchPause fails with a conflict, and changes nothing, where anything else was written in between: whoever did it may have paused it as well.
func patchPause(ctx context.Context, owners *owner.Owners, md, base *clusterv1.MachineDeployment, doing string) error {
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := owners.Client.Patch(ctx, md, patch); err != nil {
		return fmt.Errorf("%s MachineDeployment %s: %w", doing, md.Name, err)
	}
	return nil
}

// hasRested reports whether Cluster API has acted on a MachineDeployment for a while.
func hasRested(owners *owner.Owners, md *clusterv1.MachineDeployment) bool {
	paused := conditions.Get(md, clusterv1.PausedCondition)
	return paused != nil && paused.Status == metav1.ConditionFalse &&
		owners.Observed.Age(goingOn{md.UID}, paused.LastTransitionTime.Time, owners.Clock.Now()) >= pauseRest
}

// goingOn is the key of since when Cluster API acts on a MachineDeployment.
type goingOn struct{ uid types.UID }

// hasPaused reports whether Cluster API has answered Pause.
func hasPaused(md *clusterv1.MachineDeployment) bool {
	return owner.PausedFor(owner.ForMachineDeployment(md)) != "" && conditions.IsTrue(md, clusterv1.PausedCondition)
}
