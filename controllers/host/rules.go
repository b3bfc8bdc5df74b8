// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
)

// registrationToHosts maps a registration to its hosts that serve no machine. Those that serve one are that machine's.
func (r *Reconciler) registrationToHosts(ctx context.Context, registration client.Object) []reconcile.Request {
	hosts, err := association.RegisteredHosts(ctx, r.Client, registration)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to find the hosts whose rules of signatures have changed")
		return nil
	}
	var requests []reconcile.Request
	for i := range hosts {
		if hosts[i].Spec.MachineRef == nil {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&hosts[i])})
		}
	}
	return requests
}

// followRegistration gives a host that serves no machine the rules of signatures that its registration has by now, and
// says whether it has written. Without it a key that was taken out would count until the host is claimed.
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
