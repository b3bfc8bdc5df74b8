// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

const (
	// handlerLabel and its value are those of the Pods of virt-handler.
	handlerLabel, handlerName = kubevirtv1.AppLabel, "virt-handler"
	// controllerName is that of the Pods of virt-controller, with the same label.
	controllerName = "virt-controller"
	// subresourceAPI is the APIService that virt-api serves.
	subresourceAPI = "v1.subresources.kubevirt.io"
	// evictionWebhook of virt-api. Without it an eviction stops the virtual machine instead of moving it.
	evictionWebhook = "virt-launcher-eviction-interceptor.kubevirt.io"
)

// Installation is what there is of KubeVirt in a workload cluster, for the checks of all its Nodes.
type Installation struct {
	// Installations are the KubeVirt objects, of which there should be one.
	Installations []kubevirtv1.KubeVirt
	// API says why virt-api does not serve; empty if it does.
	API string
	// Interceptor reports whether virt-api is asked about evictions.
	Interceptor bool
	// Handlers says for every Node with a Pod of virt-handler whether that is Ready.
	Handlers map[string]bool
	// Controllers are Pods of virt-controller, and ControllersReady how many of them are Ready.
	Controllers, ControllersReady int
	// Places are the nodes of the virtual machine instances.
	Places map[types.NamespacedName]string
	// Migrations that have not ended.
	Migrations []kubevirtv1.VirtualMachineInstanceMigration
	jobs       []workload.Job
}

// Read takes CRDs that an uninstalled KubeVirt left behind for no KubeVirt.
func (Resident) Read(ctx context.Context, in workload.Reading) (workload.State, error) {
	_, found, err := in.Find(schema.GroupKind{Group: kubevirtv1.GroupVersion.Group, Kind: "KubeVirt"})
	if err != nil || !found {
		return nil, err
	}
	installations := &kubevirtv1.KubeVirtList{}
	if err := in.List(ctx, installations); err != nil {
		return nil, existing.UnlessAbsent(err, "listing KubeVirts")
	}
	if len(installations.Items) == 0 {
		return nil, nil
	}
	return readAll(ctx, in, &Installation{Installations: installations.Items}, readVirtAPI, readInterceptor, readHandlers, readPlaces, readMigrations, readJobs)
}

// Refreshed has what has to be known at each eviction: it is the same few objects however many nodes there are.
func (k *Installation) Refreshed(ctx context.Context, in workload.Reading) (workload.State, error) {
	fresh := *k
	return readAll(ctx, in, &fresh, readVirtAPI, readInterceptor)
}

func readAll(ctx context.Context, in workload.Reading, k *Installation, parts ...func(context.Context, workload.Reading, *Installation) error) (workload.State, error) {
	for _, read := range parts {
		if err := read(ctx, in, k); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func readVirtAPI(ctx context.Context, in workload.Reading, k *Installation) error {
	k.API = ""
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	err := in.Get(ctx, client.ObjectKey{Name: subresourceAPI}, service)
	switch {
	case existing.IsAbsent(err):
		k.API = "is not there"
	case err != nil:
		return fmt.Errorf("reading APIService %s: %w", subresourceAPI, err)
	case !workload.HasCondition(service.Object, "Available", "True"):
		k.API = "is not Available"
	}
	return nil
}

func readInterceptor(ctx context.Context, in workload.Reading, k *Installation) error {
	configurations := &admissionregistrationv1.ValidatingWebhookConfigurationList{}
	if err := in.List(ctx, configurations); err != nil {
		return fmt.Errorf("listing ValidatingWebhookConfigurations: %w", err)
	}
	k.Interceptor = slices.ContainsFunc(configurations.Items, func(c admissionregistrationv1.ValidatingWebhookConfiguration) bool {
		return slices.ContainsFunc(c.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == evictionWebhook })
	})
	return nil
}

func readHandlers(ctx context.Context, in workload.Reading, k *Installation) error {
	ofBoth, err := labels.NewRequirement(handlerLabel, selection.In, []string{handlerName, controllerName})
	if err != nil {
		return fmt.Errorf("selecting the Pods of KubeVirt: %w", err)
	}
	pods := &corev1.PodList{}
	if err := in.List(ctx, pods, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*ofBoth)}); err != nil {
		return fmt.Errorf("listing the Pods of virt-handler and virt-controller: %w", err)
	}
	k.Handlers, k.Controllers, k.ControllersReady = map[string]bool{}, 0, 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Labels[handlerLabel] == controllerName {
			k.Controllers++
			if workload.IsPodReady(pod) {
				k.ControllersReady++
			}
			continue
		}
		k.Handlers[pod.Spec.NodeName] = k.Handlers[pod.Spec.NodeName] || workload.IsPodReady(pod)
	}
	return nil
}

// readPlaces reads no more of virtual machine instances than their labels: there may be thousands.
func readPlaces(ctx context.Context, in workload.Reading, k *Installation) error {
	instances := &metav1.PartialObjectMetadataList{}
	instances.SetGroupVersionKind(kubevirtv1.GroupVersion.WithKind("VirtualMachineInstanceList"))
	if err := in.List(ctx, instances); err != nil {
		return existing.UnlessAbsent(err, "listing VirtualMachineInstances")
	}
	k.Places = map[types.NamespacedName]string{}
	for i := range instances.Items {
		k.Places[client.ObjectKeyFromObject(&instances.Items[i])] = instances.Items[i].Labels[kubevirtv1.NodeNameLabel]
	}
	return nil
}

func readMigrations(ctx context.Context, in workload.Reading, k *Installation) error {
	migrations := &kubevirtv1.VirtualMachineInstanceMigrationList{}
	if err := in.List(ctx, migrations); err != nil {
		return existing.UnlessAbsent(err, "listing VirtualMachineInstanceMigrations")
	}
	k.Migrations = slices.DeleteFunc(migrations.Items, func(m kubevirtv1.VirtualMachineInstanceMigration) bool { return m.IsFinal() })
	slices.SortFunc(k.Migrations, func(a, b kubevirtv1.VirtualMachineInstanceMigration) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return nil
}

// On is how many virtual machine instances a node has.
func (k *Installation) On(node string) int {
	count := 0
	for _, place := range k.Places {
		if place == node {
			count++
		}
	}
	return count
}
