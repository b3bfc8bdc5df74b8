// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Names that kubeadm gives to its objects in the cluster, and that KubeadmControlPlane looks up.
const (
	kubeadmConfig           = "kubeadm-config"
	clusterConfigurationKey = "ClusterConfiguration"
	etcdURLAnnotation       = "kubeadm.kubernetes.io/etcd.advertise-client-urls"
	componentLabel          = "component"
	tierLabel               = "tier"
	tierControlPlane        = "control-plane"
	etcdComponent           = "etcd"
	apiServerComponent      = "kube-apiserver"
)

// ControlPlane describes what runs on a control plane host besides its kubelet.
type ControlPlane struct {
	// EtcdURL is where the host's etcd member serves clients.
	EtcdURL string
	// EtcdReady probes the member.
	EtcdReady func(ctx context.Context) error
}

// UploadConfig stores the ClusterConfiguration in the cluster, as the last steps of `kubeadm init` do.
func (w *Writer) UploadConfig(ctx context.Context, clusterConfiguration []byte) error {
	_, err := w.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: kubeadmConfig, Namespace: metav1.NamespaceSystem},
		Data:       map[string]string{clusterConfigurationKey: string(clusterConfiguration)},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("uploading the kubeadm configuration: %w", err)
	}
	return nil
}

// EtcdEndpoints finds the etcd members of the cluster as `kubeadm join` does: by their static Pods.
func (w *Writer) EtcdEndpoints(ctx context.Context) ([]string, error) {
	pods, err := w.client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{componentLabel: etcdComponent, tierLabel: tierControlPlane}.String(),
	})
	if err != nil {
		return nil, fmt.Errorf("looking for etcd: %w", err)
	}
	endpoints := []string{}
	for i := range pods.Items {
		if url := pods.Items[i].Annotations[etcdURLAnnotation]; url != "" {
			endpoints = append(endpoints, url)
		}
	}
	if len(endpoints) == 0 {
		return nil, fmt.Errorf("looking for etcd: no Pod in %s has annotation %s", metav1.NamespaceSystem, etcdURLAnnotation)
	}
	return endpoints, nil
}
