// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	// stubbornGrace is how long the Pod that ignores SIGTERM may take to end.
	stubbornGrace = 8 * time.Second
	// killed is the exit code of a container that was ended by SIGKILL.
	killed = 137
	// recorderDelay is how long the DaemonSet's Pods take to be Ready.
	recorderDelay = 6 * time.Second
	// recordDir is where the DaemonSet's Pods have their record on the host. /var is on the persistent partition.
	recordDir = "/var/lib/record"
)

// spreadWeb is a Deployment with a Pod on each node, and a PodDisruptionBudget that wants all of them.
func spreadWeb(ctx context.Context) *appsv1.Deployment {
	GinkgoHelper()
	replicas := int32(len(hosts))
	web := suite.Web(replicas)
	web.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		// The node that is drained must not keep the Pods from the others.
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: web.Spec.Selector,
	}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}, Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: web.Spec.Selector, MinAvailable: ptr.To(intstr.FromInt32(replicas)),
	}}
	create(ctx, budget)
	create(ctx, web)
	return web
}

// stubbornOn is a Deployment with one Pod, which has to be on this node and ignores SIGTERM.
func stubbornOn(ctx context.Context, node string) *appsv1.Deployment {
	GinkgoHelper()
	made := suite.Web(1)
	made.Name, made.Spec.Selector, made.Spec.Template = "stubborn", selectorOf("stubborn"), podsOf("stubborn", stubbornImage)
	made.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	made.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To(int64(stubbornGrace / time.Second))
	create(ctx, made)
	return made
}

// recorder is a DaemonSet whose Pods note their starts and ends in a hostPath volume, and are Ready some time after they have started.
func recorder(ctx context.Context) *appsv1.DaemonSet {
	GinkgoHelper()
	made := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "recorder"}, Spec: appsv1.DaemonSetSpec{
		Selector: selectorOf("recorder"), Template: podsOf("recorder", recorderImage),
	}}
	pod := &made.Spec.Template.Spec
	pod.Volumes = []corev1.Volume{{Name: "record", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: recordDir, Type: ptr.To(corev1.HostPathDirectoryOrCreate)},
	}}}
	pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "record", MountPath: "/record"}}
	pod.Containers[0].ReadinessProbe = &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/pod", "ready"}}},
		InitialDelaySeconds: int32(recorderDelay / time.Second), PeriodSeconds: 1,
	}
	create(ctx, made)
	return made
}

func podsOf(app, image string) corev1.PodTemplateSpec {
	template := suite.PodTemplate(map[string]string{"app": app})
	template.Spec.Containers[0].Image = image
	return template
}

func selectorOf(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func create(ctx context.Context, object client.Object) {
	GinkgoHelper()
	Expect(theLab.WorkloadKube.Create(ctx, object)).To(Succeed())
}

// readyPods is the number of Ready Pods of a Deployment or DaemonSet.
func readyPods(ctx context.Context, of client.Object) (int32, error) {
	err := theLab.WorkloadKube.Get(ctx, client.ObjectKeyFromObject(of), of)
	switch read := of.(type) {
	case *appsv1.Deployment:
		return read.Status.ReadyReplicas, err
	case *appsv1.DaemonSet:
		return read.Status.NumberReady, err
	}
	return 0, err
}
