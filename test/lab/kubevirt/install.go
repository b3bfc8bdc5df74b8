// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"encoding/base64"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

const (
	kindAPIService = "APIService"
	kindNamespace  = "Namespace"
	// apiService is the name of virt-api's Service, for which its certificate must be valid.
	apiService = "virt-api"
)

// installObjects creates everything that does not need virt-api.
func (k *KubeVirt) installObjects(ctx context.Context) error {
	crds := k.manifests.CRDs()
	if err := crds.Create(ctx, k.options.Kube); err != nil {
		return err
	}
	if err := k.manifests.OfKind(kindNamespace).Create(ctx, k.options.Kube); err != nil {
		return err
	}
	objects := k.manifests.OfKind(
		"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "PriorityClass", "DaemonSet")
	if err := objects.Create(ctx, k.options.Kube); err != nil {
		return err
	}
	return capi.AwaitEstablished(ctx, k.options.Kube, crds)
}

// trust publishes the CA of KubeVirt's certificates, which is the cluster's. Source: KubeVirt 1.7,
// pkg/virt-operator/resource/generate/components/secrets.go.
func (k *KubeVirt) trust(ctx context.Context) error {
	return k.create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "kubevirt-ca"},
		Data:       map[string]string{"ca-bundle": string(k.options.Cluster.Authority().CertPEM)},
	})
}

// installWebhooks makes the API server call virt-api, which runs on loopback rather than behind a Service.
func (k *KubeVirt) installWebhooks(ctx context.Context) error {
	webhooks := k.manifests.Webhooks()
	if err := webhooks.OnLoopback(int(k.api), k.options.Cluster.Authority().CertPEM); err != nil {
		return err
	}
	if err := webhooks.Create(ctx, k.options.Kube); err != nil {
		return err
	}
	return k.installSubresources(ctx)
}

// installSubresources registers virt-api as the aggregated API for the subresources. An APIService can refer only to a
// Service; one of type ExternalName can resolve to loopback.
func (k *KubeVirt) installSubresources(ctx context.Context) error {
	err := k.create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: apiService},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "localhost", Ports: []corev1.ServicePort{{Port: int32(k.api)}},
		},
	})
	if err != nil {
		return err
	}
	services := k.manifests.OfKind(kindAPIService)
	for _, service := range services {
		spec, _, err := unstructured.NestedMap(service.Object, "spec")
		if err != nil {
			return fmt.Errorf("reading %s %s: %w", kindAPIService, service.GetName(), err)
		}
		spec["caBundle"] = base64.StdEncoding.EncodeToString(k.options.Cluster.Authority().CertPEM)
		spec["service"] = map[string]any{"namespace": Namespace, "name": apiService, "port": int64(k.api)}
		service.Object["spec"] = spec
	}
	return services.Create(ctx, k.options.Kube)
}

func (k *KubeVirt) create(ctx context.Context, object client.Object) error {
	if err := k.options.Kube.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
	}
	return nil
}
