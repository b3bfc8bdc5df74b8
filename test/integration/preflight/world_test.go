// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
)

var (
	kubeVirtKind   = schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "KubeVirt"}
	instanceKind   = schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachineInstance"}
	migrationKind  = schema.GroupVersionKind{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachineInstanceMigration"}
	planKind       = schema.GroupVersionKind{Group: "upgrade.cattle.io", Version: "v1", Kind: "Plan"}
	webhookKind    = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}
	apiServiceKind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
)

const space = "default"

// object of the workload cluster.
func object(kind schema.GroupVersionKind, name string, content map[string]any) *unstructured.Unstructured {
	return storage.New(kind, space, name, content)
}

func create(objects ...*unstructured.Unstructured) func(context.Context) {
	return func(ctx context.Context) {
		GinkgoHelper()
		for _, made := range objects {
			Expect(cluster.WorkloadKube().Create(ctx, made.DeepCopy())).To(Succeed())
		}
	}
}

func remove(objects ...*unstructured.Unstructured) func(context.Context) {
	return func(ctx context.Context) {
		GinkgoHelper()
		for _, made := range objects {
			Expect(client.IgnoreNotFound(cluster.WorkloadKube().Delete(ctx, made.DeepCopy()))).To(Succeed())
		}
	}
}

// set a field of an object of the workload cluster.
func set(kind schema.GroupVersionKind, name string, value any, fields ...string) func(context.Context) {
	return func(ctx context.Context) {
		GinkgoHelper()
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(kind)
		Expect(cluster.WorkloadKube().Get(ctx, client.ObjectKey{Namespace: space, Name: name}, found)).To(Succeed())
		Expect(unstructured.SetNestedField(found.Object, value, fields...)).To(Succeed())
		if kind == kubeVirtKind { // it has no status subresource here, so that each write changes its generation
			Expect(unstructured.SetNestedField(found.Object, found.GetGeneration()+1, "status", "observedGeneration")).To(Succeed())
		}
		Expect(cluster.WorkloadKube().Update(ctx, found)).To(Succeed())
	}
}

// workload runs kubectl on the workload cluster.
func workload(args ...string) func(context.Context) {
	return func(ctx context.Context) {
		GinkgoHelper()
		_, err := cluster.Lab.WorkloadKubectl(ctx, args...)
		Expect(err).NotTo(HaveOccurred())
	}
}

// interceptor is the configuration of virt-api's eviction webhook, on a resource that does not
// exist.
func interceptor() *unstructured.Unstructured {
	made := storage.New(webhookKind, "", "virt-api-validator", map[string]any{"webhooks": []any{map[string]any{
		"name": "virt-launcher-eviction-interceptor.kubevirt.io", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None",
		"clientConfig": map[string]any{"url": "https://localhost:1/"},
		"rules": []any{map[string]any{
			"apiGroups": []any{"none.example.com"}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"none"},
		}},
	}}})
	return made
}

// installKubeVirt simulates a healthy KubeVirt.
func installKubeVirt(ctx context.Context) {
	GinkgoHelper()
	condition := func(kind, status string) any { return map[string]any{"type": kind, "status": status} }
	made := object(kubeVirtKind, "kubevirt", map[string]any{"spec": map[string]any{}, "status": map[string]any{
		"phase": "Deployed", "observedGeneration": int64(1),
		"observedKubeVirtVersion": "v1.7.0", "targetKubeVirtVersion": "v1.7.0", "observedDeploymentID": "id", "targetDeploymentID": "id",
		"conditions": []any{
			condition("Available", "True"), condition("Progressing", "False"), condition("Degraded", "False"), condition("Created", "True"),
		},
	}})
	create(made, interceptor(), storage.New(apiServiceKind, "", "v1.subresources.kubevirt.io", map[string]any{"spec": map[string]any{
		"group": "subresources.kubevirt.io", "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(15),
	}}))(ctx)
	set(kubeVirtKind, "kubevirt", int64(0), "status", "outdatedVirtualMachineInstanceWorkloads")(ctx)
}
