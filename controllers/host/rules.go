// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
)

// unclaimed names a host that serves no machine. The rules of one that serves one are that machine's to pass on.
func unclaimed(host *infrav1.ElementalHost) types.NamespacedName {
	if host.Spec.MachineRef != nil {
		return types.NamespacedName{}
	}
	return client.ObjectKeyFromObject(host)
}

// followRegistration gives a host that serves no machine the rules of signatures that its registration has by now, and
// reports whether it has written. Without it a key that was taken out would count until the host is claimed.
func (r *Reconciler) followRegistration(ctx context.Context, host *infrav1.ElementalHost) (written bool, err error) {
	if host.Spec.MachineRef != nil {
		return false, nil
	}
	rules, err := association.RegisteredRules(ctx, r.Client, host)
	if err != nil || equality.Semantic.DeepEqual(rules, host.Spec.ImageVerification) {
		return false, err
	}
	before := host.DeepCopy()
	host.Spec.ImageVerification = rules
	ctrl.LoggerFrom(ctx).Info("Passing the registration's rules of signatures on to its host", "ElementalHost", klog.KObj(host))
	err = r.Client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("writing the rules of signatures of ElementalHost %s: %w", host.Name, err)
	}
	return true, nil
}
