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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// lookForControlPlanes is the interval at which it checks whether the CRD of KubeadmControlPlanes has been installed. A
// watch would require permission to list all CRDs.
var lookForControlPlanes = time.Minute

// WatchControlPlanes makes a controller watch KubeadmControlPlanes. Their provider may be installed at any time after
// the manager has started; the watch then delivers all that exist.
func WatchControlPlanes(mgr ctrl.Manager, by controller.Controller, wake handler.EventHandler, predicates ...predicate.Predicate) error {
	watch := func() (watched bool, err error) {
		if installed, err := hasControlPlanes(mgr.GetRESTMapper()); err != nil || !installed {
			return false, err
		}
		kind := source.Kind(mgr.GetCache(), client.Object(&controlplanev1.KubeadmControlPlane{}), wake, predicates...)
		if err := by.Watch(kind); err != nil {
			return false, fmt.Errorf("watching KubeadmControlPlanes: %w", err)
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
				ctrl.LoggerFrom(ctx).Error(err, "Failed to look for KubeadmControlPlanes, trying again")
			}
			return watched, nil
		})
		return nil
	})); err != nil {
		return fmt.Errorf("adding the look for KubeadmControlPlanes: %w", err)
	}
	return nil
}

// hasControlPlanes reports whether the CRD of KubeadmControlPlanes is installed.
func hasControlPlanes(mapper meta.RESTMapper) (bool, error) {
	kind := schema.GroupKind{Group: controlplanev1.GroupVersion.Group, Kind: KubeadmControlPlaneKind}
	_, err := mapper.RESTMapping(kind, controlplanev1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for the CRD of KubeadmControlPlane: %w", err)
	}
	return true, nil
}
