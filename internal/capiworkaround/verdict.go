// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// settleTime is how long Cluster API is given to act on a write. An object that has not been written for
// this long is not about to be acted on: its controller is kept by an error or a pause, and the change
// that would end that must not be kept out. Cluster API acts within 2 s; the rest is for one that is busy.
const settleTime = 30 * time.Second

// Verdict is what speaks against changing the reference of an owner, by what the owner had under way when it was read. What
// is empty does not speak against it.
type Verdict struct {
	// NotQuiet says why this is no quiet point. At any other moment Cluster API can delete a Machine instead of updating it:
	// one that a MachineSet has above its spec.replicas, one that has just been moved to another MachineSet, or an
	// unhealthy one of a control plane. A quiet point may be over at once.
	//
	// Machines that are being deleted do not count, or a drain that never ends would keep a bad image from being replaced by
	// a good one: whether Cluster API deletes or moves what a MachineSet has too many, it takes those first
	// (machineset_deletion_order.go, and startMoveMachines of machineset_controller.go).
	NotQuiet string
	// Between says that Cluster API may be about to take the next Machine of a rollout, between this look and the write of the reference. It is empty
	// where the rollout is over, as many Machines as may be at once are being updated, or nothing has been written for so long that the
	// rollout hardly continues by itself.
	Between string

	// returns are what speaks against going back to a template, by its name.
	returns map[string]string
}

// ReturnTo says why the owner cannot go to a template name that it used before. To one that it never used it always can. It
// is of use at a quiet point only.
func (v Verdict) ReturnTo(template string) string { return v.returns[template] }

// Judge reads live what an owner has under way, once, and judges that.
func Judge(ctx context.Context, owners *owner.Owners, of owner.Owner) (Verdict, error) {
	fresh, err := owners.Reload(ctx, of)
	if err != nil {
		return Verdict{}, err
	}
	if controlPlane, isOne := fresh.(owner.ControlPlane); isOne {
		return judgeControlPlane(ctx, owners, controlPlane)
	}
	if md, isOne := fresh.Object().(*clusterv1.MachineDeployment); isOne {
		return judgeMachineDeployment(ctx, owners, md)
	}
	return Verdict{}, nil
}

func unobserved(owners *owner.Owners, of owner.Owner, observed int64) string {
	if of.Object().GetGeneration() == observed || !writtenRecently(owners, of.Object()) {
		return ""
	}
	return owner.Describe(of) + " was changed and has not been acted on yet"
}

// written is the key of when anything in an object was last written.
type written struct{ uid types.UID }

// writtenRecently reports whether anything in an object was written within settleTime.
func writtenRecently(owners *owner.Owners, object client.Object) bool {
	last := object.GetCreationTimestamp().Time
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return owners.Observed.Age(written{object.GetUID()}, last, owners.Clock.Now()) < settleTime
}
