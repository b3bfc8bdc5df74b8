// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// userAgent is that of Rancher's clients of workload clusters, which is the default of the program.
const userAgent = "rancher/v0.0.0 (linux/amd64) kubernetes/$Format"

// workloads reaches the workload clusters by the kubeconfigs of Cluster API.
type workloads struct {
	kube client.Reader
	as   func(*rest.Config) (*rest.Config, error)
}

// of is a client for the cluster of a Machine.
func (w workloads) of(ctx context.Context, machine *clusterv1.Machine) (kubernetes.Interface, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.ClusterName + "-kubeconfig"}
	if err := w.kube.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of Cluster %s: %w", machine.Spec.ClusterName, err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of Cluster %s: %w", machine.Spec.ClusterName, err)
	}
	if config, err = w.as(config); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	// Of the name of the program follows the field manager of what is written.
	config.QPS, config.UserAgent = -1, userAgent
	return kubernetes.NewForConfig(config)
}

// node of a Machine that has one.
func (w workloads) node(ctx context.Context, machine *clusterv1.Machine) (kubernetes.Interface, *corev1.Node, error) {
	kube, err := w.of(ctx, machine)
	if err != nil {
		return nil, nil, err
	}
	node, err := kube.CoreV1().Nodes().Get(ctx, machine.Status.NodeRef.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("reading Node %s: %w", machine.Status.NodeRef.Name, err)
	}
	return kube, node, nil
}

// setUnschedulable cordons or uncordons a Node that is not yet so.
func setUnschedulable(ctx context.Context, kube kubernetes.Interface, node *corev1.Node, wanted bool) error {
	if node.Spec.Unschedulable == wanted {
		return nil
	}
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, wanted)
	if !wanted {
		patch = []byte(`{"spec":{"unschedulable":null}}`)
	}
	if _, err := kube.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("setting Node %s unschedulable=%t: %w", node.Name, wanted, err)
	}
	return nil
}

// ready is the condition Ready of a Node.
func ready(node *corev1.Node) corev1.ConditionStatus {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status
		}
	}
	return corev1.ConditionUnknown
}
