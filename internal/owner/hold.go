// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// holdRest is how long Cluster API goes on at least between two holds, so that what keeps a reference from being changed,
// a policy for one, does not keep it from everything else.
const holdRest = 5 * time.Second

// ErrNotHeld says that Cluster API may act on a MachineDeployment whose reference is to be changed.
var ErrNotHeld = errors.New("it is not held")

// HeldFor is the template for whose rollout an owner is held by Hold, or empty.
func HeldFor(of Owner) string {
	template, isOurs := strings.CutPrefix(of.Object().GetAnnotations()[clusterv1.PausedAnnotation], infrav1.RolloutHoldPrefix)
	if !isOurs {
		return ""
	}
	return template
}

// IsPausedByOthers says whether somebody has paused an owner; Hold does not count.
func IsPausedByOthers(of Owner) bool {
	return annotations.HasPaused(of.Object()) && HeldFor(of) == ""
}

// Hold has Cluster API leave an owner alone until RePoint or Release, and says whether it does so by now. While a
// rollout is under way, Cluster API may take the next Machine from a MachineSet at any moment, also between a look that
// finds it quiet and the change of the reference: it would then lose count of that Machine, make another one, and delete
// the one that works. What it has begun goes on while it is held; only nothing new begins.
//
// A MachineDeployment is held by Cluster API's own pause, with a value that names the template. That it is True in
// condition Paused is the answer, so it must not be True before. A control plane does not count its Machines by
// sets, and needs no hold.
func (o *Owners) Hold(ctx context.Context, of Owner, template string) (held bool, err error) {
	fresh, err := o.reload(ctx, of)
	if err != nil {
		return false, err
	}
	md, isMachineDeployment := fresh.(machineDeployment)
	switch {
	case !isMachineDeployment:
		return true, nil
	case HeldFor(md) == template:
		return isHeld(md), nil
	case annotations.HasPaused(md.MachineDeployment), !o.hasRested(md):
		return false, nil
	}
	base := md.DeepCopy()
	annotations.AddAnnotations(md.MachineDeployment, map[string]string{clusterv1.PausedAnnotation: infrav1.RolloutHoldPrefix + template})
	return false, o.patchHold(ctx, md, base, "holding")
}

// Release undoes Hold, where the reference is not to be changed after all.
func (o *Owners) Release(ctx context.Context, of Owner) error {
	fresh, err := o.reload(ctx, of)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	md, isMachineDeployment := fresh.(machineDeployment)
	if !isMachineDeployment || HeldFor(md) == "" {
		return nil
	}
	base := md.DeepCopy()
	delete(md.Annotations, clusterv1.PausedAnnotation)
	return o.patchHold(ctx, md, base, "releasing")
}

// patchHold fails where anything else was written in between: whoever did it may have paused it as well.
func (o *Owners) patchHold(ctx context.Context, md machineDeployment, base *clusterv1.MachineDeployment, doing string) error {
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	err := o.Client.Patch(ctx, md.MachineDeployment, patch)
	if apierrors.IsConflict(err) || err == nil {
		return nil // the next look tells
	}
	return fmt.Errorf("%s %s: %w", doing, Describe(md), err)
}

// hasRested says whether Cluster API has acted on a MachineDeployment for a while.
func (o *Owners) hasRested(md machineDeployment) bool {
	paused := conditions.Get(md.MachineDeployment, clusterv1.PausedCondition)
	return paused != nil && paused.Status == metav1.ConditionFalse && o.Clock.Since(paused.LastTransitionTime.Time) >= holdRest
}

// isHeld says whether Cluster API has answered a hold.
func isHeld(md machineDeployment) bool {
	return HeldFor(md) != "" && conditions.IsTrue(md.MachineDeployment, clusterv1.PausedCondition)
}
