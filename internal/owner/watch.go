// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// lookForControlPlanes is the interval at which it checks whether the CRD of a kind of control planes has been installed. A
// watch would require permission to list all CRDs.
var lookForControlPlanes = time.Minute

// WatchControlPlanes makes a controller watch the control planes of all kinds that can update Machines in place. Their provider may be
// installed at any time after the manager has started; the watch then delivers all that exist.
func WatchControlPlanes(mgr ctrl.Manager, by controller.Controller, wake handler.EventHandler, predicates ...predicate.Predicate) error {
	for _, kind := range controlPlaneKinds {
		if err := watchKind(mgr, by, kind, wake, predicates); err != nil {
			return err
		}
	}
	return nil
}

func watchKind(mgr ctrl.Manager, by controller.Controller, of controlPlaneKind, wake handler.EventHandler, predicates []predicate.Predicate) error {
	watch := func() (watched bool, err error) {
		if installed, err := isInstalled(mgr.GetRESTMapper(), of); err != nil || !installed {
			return false, err
		}
		watchedKinds.Store(of.name, true)
		if err := by.Watch(source.Kind(mgr.GetCache(), of.newOne(), wake, predicates...)); err != nil {
			return false, fmt.Errorf("watching %ss: %w", of.name, err)
		}
		return true, nil
	}
	if watched, err := watch(); err != nil || watched {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		_ = wait.PollUntilContextCancel(ctx, lookForControlPlanes, false, func(ctx context.Context) (bool, error) {
			watched, err := watch()
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Failed to look for control planes, trying again", "kind", of.name)
			}
			return watched, nil
		})
		return nil
	})); err != nil {
		return fmt.Errorf("adding the look for %ss: %w", of.name, err)
	}
	return nil
}

// isInstalled reports whether the CRD of a kind is installed.
func isInstalled(mapper meta.RESTMapper, of controlPlaneKind) (bool, error) {
	kind := schema.GroupKind{Group: controlplanev1.GroupVersion.Group, Kind: of.name}
	_, err := mapper.RESTMapping(kind, controlplanev1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for the CRD of %s: %w", of.name, err)
	}
	return true, nil
}
