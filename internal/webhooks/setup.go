// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// SetupWithManager registers all webhooks of this package with the manager's webhook server.
func SetupWithManager(mgr ctrl.Manager) error {
	registrations := []struct {
		kind     string
		register func() error
	}{
		{"ElementalMachineTemplate", func() error {
			w := &MachineTemplate{}
			return ctrl.NewWebhookManagedBy(mgr, &infrav1.ElementalMachineTemplate{}).WithValidator(w).Complete()
		}},
		{"ElementalClusterTemplate", func() error {
			return ctrl.NewWebhookManagedBy(mgr, &infrav1.ElementalClusterTemplate{}).WithValidator(&ClusterTemplate{}).Complete()
		}},
		{"ElementalMachine", func() error {
			return ctrl.NewWebhookManagedBy(mgr, &infrav1.ElementalMachine{}).WithValidator(&Machine{Live: mgr.GetAPIReader()}).Complete()
		}},
		{"ElementalCluster", func() error {
			return ctrl.NewWebhookManagedBy(mgr, &infrav1.ElementalCluster{}).WithValidator(&Cluster{}).Complete()
		}},
		{"ElementalClusterUpgrade", func() error {
			return ctrl.NewWebhookManagedBy(mgr, &infrav1.ElementalClusterUpgrade{}).WithValidator(&ClusterUpgrade{Live: mgr.GetAPIReader()}).Complete()
		}},
		{"ElementalRegistration", func() error {
			return ctrl.NewWebhookManagedBy(mgr, &infrav1.ElementalRegistration{}).WithValidator(&Registration{}).Complete()
		}},
		{"ElementalHost", func() error {
			w := &Host{Self: whoAmI(mgr)}
			return ctrl.NewWebhookManagedBy(mgr, &infrav1.ElementalHost{}).WithValidator(w).Complete()
		}},
	}
	for _, registration := range registrations {
		if err := registration.register(); err != nil {
			return fmt.Errorf("registering webhooks of %s: %w", registration.kind, err)
		}
	}
	return nil
}

// invalid returns the error for an object with errors, or nil if there are none.
func invalid(kind string, object client.Object, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(infrav1.GroupVersion.WithKind(kind).GroupKind(), object.GetName(), errs)
}
