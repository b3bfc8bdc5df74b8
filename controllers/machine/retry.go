// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// hookRetry is how often Cluster API is made to call a hook whose calls fail.
const hookRetry = 15 * time.Second

// askAgain makes Cluster API call UpdateMachine again after calls that failed, for example because
// another extension claimed the namespace, or because this manager was down. By itself it would wait ever
// longer, up to 17 minutes (1.14), after what was in the way is gone. It looks at a Machine whenever its
// ElementalMachine is written.
func (r *Reconciler) askAgain(s *scope) ctrl.Result {
	last, asked := s.machine.Annotations[infrav1.HookRetryAnnotation]
	if s.owner == nil || !hookFails(s.owner) {
		if asked {
			delete(s.machine.Annotations, infrav1.HookRetryAnnotation)
		}
		return ctrl.Result{}
	}
	now := r.Clock.Now()
	if at, err := time.Parse(time.RFC3339, last); err == nil && now.Before(at.Add(hookRetry)) && !at.After(now) {
		return ctrl.Result{RequeueAfter: at.Add(hookRetry).Sub(now)}
	}
	annotations.AddAnnotations(s.machine, map[string]string{infrav1.HookRetryAnnotation: now.UTC().Format(time.RFC3339)})
	return ctrl.Result{RequeueAfter: hookRetry}
}

// hookFails says whether Cluster API's last call of UpdateMachine for a Machine failed.
func hookFails(owner *clusterv1.Machine) bool {
	return conditions.GetReason(owner, clusterv1.MachineUpdatingCondition) == clusterv1.MachineInPlaceUpdateFailedReason
}
