// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

func hasHook(machine *clusterv1.Machine) bool {
	_, has := machine.Annotations[infrav1.PreDrainHookAnnotation]
	return has
}

// guard puts the hook on a Machine whose Node can have virtual machines, and takes it off one whose cannot any more.
// Nothing is changed while that is not known.
func (r *Reconciler) guard(ctx context.Context, s *scope) (ctrl.Result, error) {
	if err := r.watchNodes(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if s.unreached != nil {
		return ctrl.Result{RequeueAfter: pollCluster}, nil
	}
	if s.node == nil || s.own == nil {
		return ctrl.Result{}, nil
	}
	residents, err := s.workload.CertainlyOn(ctx, s.node)
	if err != nil {
		return ctrl.Result{}, err
	}
	present := len(residents) > 0
	if present != hasHook(s.machine) {
		if err := r.setHook(ctx, s.machine, present); err != nil {
			return ctrl.Result{}, err
		}
	}
	if present || isLabelled(s.node, s.workload.Residents()) {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	return ctrl.Result{}, nil
}

// isLabelled reports whether a Node has, or had, a resident. One that was uninstalled may leave its label behind, so that it may
// come back without a change of the Node.
func isLabelled(node *corev1.Node, residents workload.Residents) bool {
	return slices.ContainsFunc(residents, func(r workload.Resident) bool {
		_, labelled := node.Labels[r.NodeLabel()]
		return labelled
	})
}

// setHook writes nothing but the hook.
func (r *Reconciler) setHook(ctx context.Context, machine *clusterv1.Machine, on bool) error {
	before := machine.DeepCopy()
	if machine.Annotations == nil {
		machine.Annotations = map[string]string{}
	}
	if on {
		machine.Annotations[infrav1.PreDrainHookAnnotation] = infrav1.PreDrainHookOwner
	} else {
		delete(machine.Annotations, infrav1.PreDrainHookAnnotation)
	}
	if err := r.Client.Patch(ctx, machine, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the pre-drain hook of Machine %s: %w", machine.Name, err)
	}
	return nil
}
