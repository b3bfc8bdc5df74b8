// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

const (
	// probeEvery is how often static Pods are probed. kubeadm's are probed every 10 s.
	probeEvery = time.Second
	// A mirror Pod has annotations with the source of its static Pod, and the hash of its manifest.
	configHash   = "lab"
	configSource = "file"

	sourceAnnotation = "kubernetes.io/config.source"
	hashAnnotation   = "kubernetes.io/config.hash"
)

// components that kubeadm runs as static Pods of a control plane node.
var components = []string{apiServerComponent, "kube-controller-manager", "kube-scheduler", etcdComponent}

// keepStaticPods keeps the mirror Pods of the control plane's static Pods, Ready according to their probes.
func (w *Writer) keepStaticPods(ctx context.Context, b Boot) {
	_ = wait.PollUntilContextCancel(ctx, probeEvery, true, func(ctx context.Context) (bool, error) {
		etcd := b.ControlPlane.EtcdReady(ctx) == nil
		for _, component := range components {
			// An API server is not ready without its etcd.
			ready := etcd || component != etcdComponent && component != apiServerComponent
			_ = w.keepStaticPod(ctx, b, component, ready)
		}
		return false, nil
	})
}

// keepStaticPod creates the mirror Pod if it is missing. It does not write what has not changed.
func (w *Writer) keepStaticPod(ctx context.Context, b Boot, component string, ready bool) error {
	pods := w.client.CoreV1().Pods(metav1.NamespaceSystem)
	pod, err := pods.Get(ctx, staticPodName(component, b.Join.NodeName), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		node, nodeErr := w.client.CoreV1().Nodes().Get(ctx, b.Join.NodeName, metav1.GetOptions{})
		if nodeErr != nil {
			return fmt.Errorf("making static pod %s: %w", component, nodeErr)
		}
		pod, err = pods.Create(ctx, staticPod(b, component, node), metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("making static pod %s: %w", component, err)
	}
	return w.setReady(ctx, pod, ready)
}

func staticPodName(component, node string) string { return component + "-" + node }

func staticPod(b Boot, component string, node *corev1.Node) *corev1.Pod {
	isController := true
	annotations := map[string]string{
		corev1.MirrorPodAnnotationKey: configHash, hashAnnotation: configHash, sourceAnnotation: configSource,
	}
	if component == etcdComponent {
		annotations[etcdURLAnnotation] = b.ControlPlane.EtcdURL
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: staticPodName(component, node.Name), Namespace: metav1.NamespaceSystem,
			Labels:      map[string]string{componentLabel: component, tierLabel: tierControlPlane},
			Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: &isController},
			},
		},
		Spec: corev1.PodSpec{
			NodeName: node.Name, HostNetwork: true,
			Containers:  []corev1.Container{{Name: component, Image: "registry.k8s.io/" + component + ":" + b.KubeletVersion}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		},
	}
}

// setReady writes the result of a probe, and retries after a conflict.
func (w *Writer) setReady(ctx context.Context, pod *corev1.Pod, ready bool) error {
	pods := w.client.CoreV1().Pods(pod.Namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		current, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil || saysReady(current, ready) {
			return err
		}
		current.Status.Phase = corev1.PodRunning
		status := corev1.ConditionFalse
		if ready {
			status = corev1.ConditionTrue
		}
		now := metav1.NewTime(w.opts.Clock.Now())
		current.Status.Conditions = nil
		for _, condition := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
			current.Status.Conditions = append(current.Status.Conditions,
				corev1.PodCondition{Type: condition, Status: status, LastTransitionTime: now})
		}
		_, err = pods.UpdateStatus(ctx, current, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("reporting pod %s: %w", pod.Name, err)
	}
	return nil
}

func saysReady(pod *corev1.Pod, ready bool) bool {
	return pod.Status.Phase == corev1.PodRunning && !needsResume(pod) == ready
}

// stopStaticPods sets the static Pods of a node to not Ready: they end with their host.
func (w *Writer) stopStaticPods(ctx context.Context, node string) error {
	pods, err := w.client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		return fmt.Errorf("listing the static pods of node %s: %w", node, err)
	}
	failures := []error{}
	for i := range pods.Items {
		if isMirror(&pods.Items[i]) {
			failures = append(failures, w.setReady(ctx, &pods.Items[i], false))
		}
	}
	return errors.Join(failures...)
}

func isMirror(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror
}
