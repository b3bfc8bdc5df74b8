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

// RegisteredHosts are the hosts that came through a registration, from a cache with HostRegistrationIndex. They are the
// cache's own: nobody may change them.
func RegisteredHosts(ctx context.Context, cached client.Reader, registration client.Object) ([]infrav1.ElementalHost, error) {
	hosts := &infrav1.ElementalHostList{}
	if err := cached.List(ctx, hosts, client.InNamespace(registration.GetNamespace()),
		client.MatchingFields{HostRegistrationIndex: registration.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the hosts of ElementalRegistration %s/%s: %w", registration.GetNamespace(), registration.GetName(), err)
	}
	return hosts.Items, nil
}

// ByRegistration maps a registration to what has to be reconciled for each of its hosts when its rules of signatures change:
// the zero name for nothing.
func ByRegistration(cached client.Reader, of func(*infrav1.ElementalHost) types.NamespacedName) handler.MapFunc {
	return func(ctx context.Context, registration client.Object) []reconcile.Request {
		hosts, err := RegisteredHosts(ctx, cached, registration)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to find the hosts whose rules of signatures have changed")
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

// RegisteredRules says whose signature a host's images need by the registration that it came through. While that cannot
// be found, as in the middle of a move, the host keeps what it has.
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

// RulesChanged passes a registration that comes, which a host may have come before, and one whose rules change. Its spec
// changes also with every token and every key that it denies: without this each of them would wake all of its hosts.
func RulesChanged() predicate.Funcs {
	return predicate.Funcs{
		UpdateFunc: predicates.Changed(func(registration *infrav1.ElementalRegistration) any {
			return registration.Spec.ImageVerification
		}).UpdateFunc,
		DeleteFunc: func(event.DeleteEvent) bool { return false }, // its hosts keep what they have
	}
}
