// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// NewCluster creates a cluster on a lab and waits until its Machines run. It prints its commands to
// the GinkgoWriter.
func NewCluster(ctx context.Context, l *lab.Lab, options scenario.Options) *scenario.Cluster {
	GinkgoHelper()
	cluster := scenario.New(l, options)
	cluster.Told = func(command string) { GinkgoWriter.Println("$", command) }
	err := cluster.Create(ctx)
	if err != nil && CurrentSpecReport().LeafNodeType != types.NodeTypeIt { // after a spec that fails, the state is printed anyway
		Tell(ctx, l)
	}
	Expect(err).NotTo(HaveOccurred())
	return cluster
}

// pushed counts the images, for their tags.
var pushed atomic.Int64

// Push builds an image of an OS and pushes it to the lab's registry with a unique tag.
func Push(ctx context.Context, cluster *scenario.Cluster, os image.OS) image.Image {
	GinkgoHelper()
	made, err := cluster.PushImage(ctx, fmt.Sprintf("s%d", pushed.Add(1)), os)
	Expect(err).NotTo(HaveOccurred())
	return made
}

// Web is a Deployment without a PodDisruptionBudget, so that a drain has Pods to evict.
func Web(replicas int32) *appsv1.Deployment {
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web", Labels: map[string]string{"app": "web"}}
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
		Template: PodTemplate(meta.Labels),
	}}
}

// PodTemplate is of Pods that only run.
func PodTemplate(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/web:1"}}},
	}
}
