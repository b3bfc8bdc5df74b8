// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// adopt makes a host of version 0.7 one of this version, and reports whether it has written. In 0.7 the registration owned its hosts, and
// nothing else told through which one a host had registered. Here annotations do: without them the Elemental API refuses the host.
// The owner reference is removed, since with it all hosts would be deleted together with their registration.
func (r *Reconciler) adopt(ctx context.Context, host *infrav1.ElementalHost) (written bool, err error) {
	at := slices.IndexFunc(host.OwnerReferences, isRegistration)
	if at < 0 {
		return false, nil
	}
	before := host.DeepCopy()
	if host.Annotations == nil {
		host.Annotations = map[string]string{}
	}
	if host.Annotations[infrav1.RegistrationNameAnnotation] == "" {
		host.Annotations[infrav1.RegistrationNameAnnotation] = host.OwnerReferences[at].Name
		host.Annotations[infrav1.RegistrationNamespaceAnnotation] = host.Namespace
	}
	host.OwnerReferences = slices.DeleteFunc(host.OwnerReferences, isRegistration)
	ctrl.LoggerFrom(ctx).Info("Adopting a host of version 0.7", "ElementalHost", klog.KObj(host))
	err = r.Client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("adopting ElementalHost %s: %w", host.Name, err)
	}
	return true, nil
}

func isRegistration(owner metav1.OwnerReference) bool {
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && group.Group == infrav1.GroupVersion.Group && owner.Kind == "ElementalRegistration"
}
