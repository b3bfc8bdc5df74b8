// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// handlerLabel and its value are those of the Pods of virt-handler.
	handlerLabel, handlerName = kubevirtv1.AppLabel, "virt-handler"
	// subresourceAPI is the APIService that virt-api serves.
	subresourceAPI = "v1.subresources.kubevirt.io"
	// evictionWebhook of virt-api. Without it an eviction stops the virtual machine instead of moving it.
	evictionWebhook = "virt-launcher-eviction-interceptor.kubevirt.io"
)

// KubeVirt is what there is of it in a workload cluster.
type KubeVirt struct {
	// Installations are the KubeVirt objects, of which there should be one.
	Installations []kubevirtv1.KubeVirt
	// API says why virt-api does not serve; empty if it does.
	API string
	// Interceptor says whether virt-api is asked about evictions.
	Interceptor bool
	// Handlers says for every Node with a Pod of virt-handler whether that is Ready.
	Handlers map[string]bool
	// Places are the nodes of the virtual machine instances.
	Places map[types.NamespacedName]string
	// Migrations that have not ended.
	Migrations []kubevirtv1.VirtualMachineInstanceMigration
}

// readKubeVirt takes CRDs that an uninstalled KubeVirt left behind for no KubeVirt.
func readKubeVirt(ctx context.Context, in *optional, s *Services) error {
	_, found, err := in.find(schema.GroupKind{Group: kubevirtv1.GroupVersion.Group, Kind: "KubeVirt"})
	if err != nil || !found {
		return err
	}
	installations := &kubevirtv1.KubeVirtList{}
	if err := in.List(ctx, installations); err != nil {
		return unlessAbsent(err, "listing KubeVirts")
	}
	if len(installations.Items) == 0 {
		return nil
	}
	k := &KubeVirt{Installations: installations.Items}
	for _, read := range []func(context.Context, *optional, *KubeVirt) error{readVirtAPI, readInterceptor, readHandlers, readPlaces, readMigrations} {
		if err := read(ctx, in, k); err != nil {
			return err
		}
	}
	s.KubeVirt = k
	return nil
}

func readVirtAPI(ctx context.Context, in *optional, k *KubeVirt) error {
	k.API = ""
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	err := in.Get(ctx, client.ObjectKey{Name: subresourceAPI}, service)
	switch {
	case isAbsent(err):
		k.API = "is not there"
	case err != nil:
		return fmt.Errorf("reading APIService %s: %w", subresourceAPI, err)
	case !hasCondition(service.Object, "Available", "True"):
		k.API = "is not Available"
	}
	return nil
}

func readInterceptor(ctx context.Context, in *optional, k *KubeVirt) error {
	configurations := &admissionregistrationv1.ValidatingWebhookConfigurationList{}
	if err := in.List(ctx, configurations); err != nil {
		return fmt.Errorf("listing ValidatingWebhookConfigurations: %w", err)
	}
	k.Interceptor = slices.ContainsFunc(configurations.Items, func(c admissionregistrationv1.ValidatingWebhookConfiguration) bool {
		return slices.ContainsFunc(c.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == evictionWebhook })
	})
	return nil
}

func readHandlers(ctx context.Context, in *optional, k *KubeVirt) error {
	pods := &corev1.PodList{}
	if err := in.List(ctx, pods, client.MatchingLabels{handlerLabel: handlerName}); err != nil {
		return fmt.Errorf("listing the Pods of virt-handler: %w", err)
	}
	k.Handlers = map[string]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		isReady := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		k.Handlers[pod.Spec.NodeName] = k.Handlers[pod.Spec.NodeName] || isReady
	}
	return nil
}

// readPlaces reads no more of virtual machine instances than their labels: there may be thousands.
func readPlaces(ctx context.Context, in *optional, k *KubeVirt) error {
	instances := &metav1.PartialObjectMetadataList{}
	instances.SetGroupVersionKind(kubevirtv1.GroupVersion.WithKind("VirtualMachineInstanceList"))
	if err := in.List(ctx, instances); err != nil {
		return unlessAbsent(err, "listing VirtualMachineInstances")
	}
	k.Places = map[types.NamespacedName]string{}
	for i := range instances.Items {
		k.Places[client.ObjectKeyFromObject(&instances.Items[i])] = instances.Items[i].Labels[kubevirtv1.NodeNameLabel]
	}
	return nil
}

func readMigrations(ctx context.Context, in *optional, k *KubeVirt) error {
	migrations := &kubevirtv1.VirtualMachineInstanceMigrationList{}
	if err := in.List(ctx, migrations); err != nil {
		return unlessAbsent(err, "listing VirtualMachineInstanceMigrations")
	}
	k.Migrations = slices.DeleteFunc(migrations.Items, func(m kubevirtv1.VirtualMachineInstanceMigration) bool { return m.IsFinal() })
	slices.SortFunc(k.Migrations, func(a, b kubevirtv1.VirtualMachineInstanceMigration) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return nil
}

// on is how many virtual machine instances a node has.
func (k *KubeVirt) on(node string) int {
	count := 0
	for _, place := range k.Places {
		if place == node {
			count++
		}
	}
	return count
}
