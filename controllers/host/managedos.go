// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// resolveOS gives a host that serves no machine the image of the ManagedOSVersion that a person named for it,
// and reports whether it has written. One that serves a machine has its OS from there.
func (r *Reconciler) resolveOS(ctx context.Context, host *infrav1.ElementalHost) (*managedos.Problem, bool, error) {
	wanted := host.Spec.OSVersionManagement
	if host.Spec.MachineRef != nil || osversion.Unresolved(wanted) == "" {
		return nil, false, nil
	}
	resolved, problem, err := managedos.Resolver{Live: r.APIReader}.Resolve(ctx, host.Namespace, wanted)
	if err != nil || problem != nil {
		return problem, false, err
	}
	before := host.DeepCopy()
	host.Spec.OSVersionManagement = resolved
	ctrl.LoggerFrom(ctx).Info("Looked up a ManagedOSVersion", "ElementalHost", klog.KObj(host), "managedOSVersion", osversion.Managed(resolved))
	err = r.Client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return nil, false, fmt.Errorf("writing the OS of ElementalHost %s: %w", host.Name, err)
	}
	return nil, true, nil
}
