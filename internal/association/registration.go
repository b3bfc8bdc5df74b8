// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

// RegisteredHosts returns the hosts that registered through a registration, from a cache with HostRegistrationIndex. They belong to the
// cache and must not be modified.
func RegisteredHosts(ctx context.Context, cached client.Reader, registration client.Object) ([]infrav1.ElementalHost, error) {
	hosts := &infrav1.ElementalHostList{}
	if err := cached.List(ctx, hosts, client.InNamespace(registration.GetNamespace()),
		client.MatchingFields{HostRegistrationIndex: registration.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the hosts of ElementalRegistration %s/%s: %w", registration.GetNamespace(), registration.GetName(), err)
	}
	return hosts.Items, nil
}

// ByRegistration maps a registration whose imageVerification changes to a request for each of its hosts; the zero name is skipped.
func ByRegistration(cached client.Reader, of func(*infrav1.ElementalHost) types.NamespacedName) handler.MapFunc {
	return func(ctx context.Context, registration client.Object) []reconcile.Request {
		hosts, err := RegisteredHosts(ctx, cached, registration)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to list the hosts whose imageVerification has changed")
			return nil
		}
		var requests []reconcile.Request
		for i := range hosts {
			if name := of(&hosts[i]); name != (types.NamespacedName{}) {
				requests = append(requests, reconcile.Request{NamespacedName: name})
			}
		}
		return requests
	}
}

// RegisteredRules returns the imageVerification of a host's registration. While that cannot be found, as during a move, the host keeps what
// it has.
func RegisteredRules(ctx context.Context, registrations client.Reader, host *infrav1.ElementalHost) (*infrav1.ImageVerification, error) {
	registration, err := existing.Get(ctx, registrations, &infrav1.ElementalRegistration{}, host.Namespace, host.Annotations[infrav1.RegistrationNameAnnotation])
	if err != nil {
		return nil, err
	}
	if registration == nil {
		return host.Spec.ImageVerification, nil
	}
	return registration.Spec.ImageVerification.DeepCopy(), nil
}

// RulesChanged passes new registrations, whose hosts may exist already, and changes of imageVerification. A registration also changes with
// every token and denied key, which must not wake all hosts.
func RulesChanged() predicate.Funcs {
	return predicate.Funcs{
		UpdateFunc: predicates.Changed(func(registration *infrav1.ElementalRegistration) any {
			return registration.Spec.ImageVerification
		}).UpdateFunc,
		DeleteFunc: func(event.DeleteEvent) bool { return false }, // its hosts keep what they have
	}
}
