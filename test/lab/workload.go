// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/scheme"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
)

// workloadControllers are those of kube-controller-manager that nodes, Pods and budgets depend on.
func workloadControllers() []string {
	return []string{
		"node-lifecycle-controller", "taint-eviction-controller", "disruption-controller",
		"deployment-controller", "replicaset-controller", "daemonset-controller", "statefulset-controller",
		"garbage-collector-controller", "pod-garbage-collector-controller", "namespace-controller",
		"serviceaccount-controller", "endpoints-controller", "bootstrap-signer-controller", "persistentvolume-attach-detach-controller",
	}
}

func (l *Lab) startWorkload(ctx context.Context) error {
	if l.options.WithoutWorkload {
		return nil
	}
	dir, err := l.dir("workload")
	if err != nil {
		return err
	}
	l.Workload, err = kube.Start(ctx, kube.Options{
		Name: "workload", Dir: dir, Binaries: filepath.Dir(l.options.tool("etcd")),
		Controllers: workloadControllers(), Pods: true, PodStages: l.options.manifest("kwok-stages.yaml"), Died: l.died,
	})
	if err != nil {
		return err
	}
	config, err := l.Workload.RESTConfig("lab")
	if err != nil {
		return err
	}
	if l.WorkloadKube, err = client.NewWithWatch(config, client.Options{Scheme: scheme.New()}); err != nil {
		return fmt.Errorf("making the client of the workload cluster: %w", err)
	}
	if _, err := l.Workload.WriteKubeconfig("admin"); err != nil {
		return err
	}
	l.progress("workload cluster ready")
	return nil
}

// CreateNamespace creates a namespace that has opted in to in-place upgrades.
func (l *Lab) CreateNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{infrav1.ExtensionNamespaceLabel: infrav1.ExtensionNamespaceEnabled},
	}}
	if err := l.Kube.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Namespace %s: %w", name, err)
	}
	return nil
}

// ConnectWorkload makes the workload cluster the one of a Cluster: Cluster API finds it through the
// Secrets that a control plane provider would have made.
func (l *Lab) ConnectWorkload(ctx context.Context, namespace, cluster string) error {
	kubeconfig, err := l.Workload.Kubeconfig("cluster-api")
	if err != nil {
		return err
	}
	authority := l.Workload.Authority()
	for name, data := range map[string]map[string][]byte{
		cluster + "-kubeconfig": {"value": kubeconfig},
		cluster + "-ca":         {"tls.crt": authority.CertPEM, "tls.key": authority.KeyPEM},
	} {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
			Type:       clusterv1.ClusterSecretType,
			Data:       data,
		}
		if err := l.Kube.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating Secret %s: %w", name, err)
		}
	}
	return nil
}
