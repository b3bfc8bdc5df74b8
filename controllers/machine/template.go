// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// followTemplate gives a machine that has no host yet the OS that its template asks for by now, and says
// whether that was another.
//
// Cluster API makes a machine from what it has read of the template before, which may be patched at that instant. The
// rollout would bring the new content to the machine after its host has joined, with a reboot. No host runs anything
// for the machine yet, so that nothing is disturbed. Once there is a host, followOwner goes on.
func (r *Reconciler) followTemplate(ctx context.Context, s *scope) (changed bool, err error) {
	name := owner.MadeFrom(s.machine)
	if s.machine.Spec.HostRef != nil || name == "" {
		return false, nil
	}
	template := &infrav1.ElementalMachineTemplate{}
	if err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: s.machine.Namespace, Name: name}, template); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, nil
		}
		return false, fmt.Errorf("reading ElementalMachineTemplate %s: %w", name, err)
	}
	wanted := templateOS(template)
	if !osversion.IsReadable(wanted) || osversion.Same(wanted, s.machine.Spec.OSVersionManagement) {
		return false, nil
	}
	ctrl.LoggerFrom(ctx).Info("Following a template that was patched while the machine was made", "ElementalMachineTemplate", klog.KObj(template))
	s.machine.Spec.OSVersionManagement = *wanted.DeepCopy()
	if osversion.Unresolved(wanted) == "" {
		owner.Note(s.machine, name, osversion.Hash(wanted), "")
	}
	return true, nil
}

// followOwner gives a machine whose host fails to get its first OS the one that is wanted of it by now, and says whether that was another. Cluster
// API does not: see capiworkaround.
func (r *Reconciler) followOwner(ctx context.Context, s *scope) (again ctrl.Result, changed bool, err error) {
	if s.unresolved != nil || !capiworkaround.FailsFirstOS(s.owner, s.host) {
		return ctrl.Result{}, false, nil
	}
	changed, err = capiworkaround.FollowOwner(ctx, r.Client, s.owner, s.machine)
	if err != nil || !changed {
		return ctrl.Result{RequeueAfter: capiworkaround.FirstOSInterval}, false, err
	}
	ctrl.LoggerFrom(ctx).Info("Giving the host, which failed to get its first OS, the one that is wanted by now", "ElementalHost", klog.KObj(s.host))
	return ctrl.Result{}, true, nil
}
