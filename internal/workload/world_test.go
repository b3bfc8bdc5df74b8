// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
)

// world is one Node with a namespace of its own.
type world struct {
	cluster         *workload.Cluster
	namespace, node string
	// beforeStorage is what is waited for before Pods that serve volumes are evicted.
	beforeStorage string
	// late is how much later it is than the API server says.
	late     time.Duration
	observed observed.Changes
}

func (w *world) leaving() workload.Leaving {
	return workload.Leaving{Observed: &w.observed, Now: time.Now().Add(w.late)}
}

// attached are the volumes that are waited for before the Node goes down.
func (w *world) attached(ctx context.Context) []string {
	GinkgoHelper()
	volumes, err := w.cluster.AttachedVolumes(ctx, w.readNode(ctx), w.leaving())
	Expect(err).NotTo(HaveOccurred())
	return volumes
}

func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	namespace := server.NewNamespace(ctx)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	Expect(server.Client.Create(ctx, node)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(server.Client.Delete(ctx, node)).To(Succeed()) })
	return &world{cluster: workload.New(server.Client, server.Client).With(kubevirt.Resident{}, longhorn.Resident{}), namespace: namespace, node: node.Name}
}

func (w *world) readNode(ctx context.Context) *corev1.Node {
	GinkgoHelper()
	node, err := w.cluster.Node(ctx, w.node)
	Expect(err).NotTo(HaveOccurred())
	Expect(node).NotTo(BeNil())
	return node
}

// changeNode is what a person does.
func (w *world) changeNode(ctx context.Context, change func(*corev1.Node)) {
	GinkgoHelper()
	node := w.readNode(ctx)
	change(node)
	Expect(server.Client.Update(ctx, node)).To(Succeed())
}

// drain drains the Node of a Machine that exists in name only.
func (w *world) drain(ctx context.Context) (drained bool, blocker string) {
	GinkgoHelper()
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "m"}}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c"}}
	drained, blocker, err := w.cluster.Drain(ctx, cluster, machine, w.readNode(ctx), w.leaving(), func(context.Context) (string, error) {
		return w.beforeStorage, nil
	})
	Expect(err).NotTo(HaveOccurred())
	return drained, blocker
}

// addPod makes a running, ready Pod on the Node. It is gone as soon as it is evicted, unless it is
// changed.
func (w *world) addPod(ctx context.Context, name string, changes ...func(*corev1.Pod)) {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: corev1.PodSpec{
		NodeName: w.node, TerminationGracePeriodSeconds: new(int64(0)),
		Containers: []corev1.Container{{Name: "main", Image: "registry.test/web"}},
	}}
	pod.Labels = map[string]string{"app": "web"}
	for _, change := range changes {
		change(pod)
	}
	Expect(server.Client.Create(ctx, pod)).To(Succeed())
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	Expect(server.Client.Status().Update(ctx, pod)).To(Succeed())
}

func ownedBy(kind, name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: appsv1.SchemeGroupVersion.String(), Kind: kind, Name: name, UID: "1", Controller: new(true),
		}}
	}
}

func takesItsTime(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = new(int64(30)) }

func withClaim(claim string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
	}
}

// addDaemonSet makes what a DaemonSet's Pods refer to: a drain evicts those whose DaemonSet is gone.
func (w *world) addDaemonSet(ctx context.Context, name string) {
	GinkgoHelper()
	labels := map[string]string{"daemon": name}
	Expect(server.Client.Create(ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "main", Image: "registry.test/daemon"}},
			}},
		},
	})).To(Succeed())
}

// setBudget makes a PodDisruptionBudget over all "web" Pods, with a status as the disruption controller
// would write it.
func (w *world) setBudget(ctx context.Context, name string, allowed int32) {
	GinkgoHelper()
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if err := server.Client.Get(ctx, client.ObjectKeyFromObject(budget), budget); err != nil {
		one := intstr.FromInt32(1)
		budget.Spec = policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}
		Expect(server.Client.Create(ctx, budget)).To(Succeed())
	}
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, DisruptionsAllowed: allowed,
		CurrentHealthy: 1 + allowed, DesiredHealthy: 1, ExpectedPods: 1 + allowed,
	}
	Expect(server.Client.Status().Update(ctx, budget)).To(Succeed())
}

var oneGi = resource.MustParse("1Gi")

// attach attaches a PersistentVolume to the Node; of the claim, unless that is empty.
func (w *world) attach(ctx context.Context, volume, claim string, status storagev1.VolumeAttachmentStatus) {
	GinkgoHelper()
	name := w.namespace + "-" + volume
	stored := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity:    corev1.ResourceList{corev1.ResourceStorage: oneGi},
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
			Driver: "csi.test", VolumeHandle: name,
		}},
	}}
	if claim != "" {
		stored.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: w.namespace, Name: claim}
	}
	Expect(server.Client.Create(ctx, stored)).To(Succeed())
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "csi.test", NodeName: w.node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name},
	}}
	Expect(server.Client.Create(ctx, attachment)).To(Succeed())
	attachment.Status = status
	Expect(server.Client.Status().Update(ctx, attachment)).To(Succeed())
}
