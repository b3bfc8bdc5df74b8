// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
)

var (
	web   = metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: map[string]string{"app": "web"}}
	agent = metav1.ObjectMeta{Namespace: "default", Name: "agent", Labels: map[string]string{"app": "agent"}}
)

func podTemplate(meta metav1.ObjectMeta) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: meta.Name, Image: "registry.example.com/" + meta.Name + ":1"}}},
	}
}

// newBoot is a boot of a host whose kubelet the spec simulates.
func newBoot(node, id string) kubelet.Boot {
	return kubelet.Boot{Join: kubelet.Join{NodeName: node}, BootID: id, MachineID: node, OSImage: "OS", KubeletVersion: "v1.36.3"}
}

// switchOn runs a kubelet until the returned function is called.
func switchOn(writer *kubelet.Writer, boot kubelet.Boot) (off func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		writer.Run(ctx, boot)
	}()
	off = func() {
		cancel()
		<-done
	}
	DeferCleanup(off)
	return off
}

func podsOf(ctx context.Context, g Gomega, meta metav1.ObjectMeta) []corev1.Pod {
	pods := &corev1.PodList{}
	g.Expect(theLab.WorkloadKube.List(ctx, pods, client.InNamespace(meta.Namespace), client.MatchingLabels(meta.Labels))).To(Succeed())
	return pods.Items
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// readyNodes lists the nodes on which a Pod of meta is Ready.
func readyNodes(ctx context.Context, meta metav1.ObjectMeta) func(g Gomega) []string {
	return func(g Gomega) []string {
		nodes := []string{}
		for _, pod := range podsOf(ctx, g, meta) {
			if isReady(&pod) {
				g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
				nodes = append(nodes, pod.Spec.NodeName)
			}
		}
		return nodes
	}
}

func setUnschedulable(ctx context.Context, node string, unschedulable bool) {
	GinkgoHelper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, unschedulable))
	Expect(theLab.WorkloadKube.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, patch)).To(Succeed())
}

func evict(ctx context.Context, pod corev1.Pod) error {
	return theLab.WorkloadKube.SubResource("eviction").Create(ctx, &pod, &policyv1.Eviction{})
}

// takeForNotReady sets the Pods of a node to not Ready, as the node lifecycle controller does after 50 seconds
// without a heartbeat.
func takeForNotReady(ctx context.Context, node string) {
	GinkgoHelper()
	for _, pod := range append(podsOf(ctx, Default, agent), podsOf(ctx, Default, web)...) {
		if pod.Spec.NodeName != node {
			continue
		}
		for i := range pod.Status.Conditions {
			if pod.Status.Conditions[i].Type == corev1.PodReady {
				pod.Status.Conditions[i].Status = corev1.ConditionFalse
			}
		}
		Expect(theLab.WorkloadKube.Status().Update(ctx, &pod)).To(Succeed())
	}
}

var _ = Describe("The workload cluster", Ordered, func() {
	nodes := []string{"node-1", "node-2", "node-3"}
	writers, off := map[string]*kubelet.Writer{}, map[string]func(){}

	BeforeAll(func(ctx SpecContext) {
		for _, node := range nodes {
			config, err := theLab.Workload.RESTConfig("kubelet-" + node)
			Expect(err).NotTo(HaveOccurred())
			writers[node], err = kubelet.New(kubelet.Options{Config: config})
			Expect(err).NotTo(HaveOccurred())
			off[node] = switchOn(writers[node], newBoot(node, "boot-1"))
		}
		selector := &metav1.LabelSelector{MatchLabels: web.Labels}
		Expect(theLab.WorkloadKube.Create(ctx, &appsv1.Deployment{ObjectMeta: web, Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3), Selector: selector, Template: podTemplate(web),
		}})).To(Succeed())
		Expect(theLab.WorkloadKube.Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: web, Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(2)), Selector: selector,
		}})).To(Succeed())
		Expect(theLab.WorkloadKube.Create(ctx, &appsv1.DaemonSet{ObjectMeta: agent, Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: agent.Labels}, Template: podTemplate(agent),
		}})).To(Succeed())
	})

	It("schedules Pods, and kwok runs them on Nodes that it does not write", func(ctx SpecContext) {
		Eventually(readyNodes(ctx, web)).Should(HaveLen(3))
		Eventually(readyNodes(ctx, agent)).Should(ConsistOf(nodes))
		events, err := audit.Read(theLab.Workload.AuditLog())
		Expect(err).NotTo(HaveOccurred())
		for _, event := range events {
			if event.ObjectRef != nil && event.ObjectRef.Resource == "nodes" && audit.IsWrite(event) {
				Expect(event.User.Username).NotTo(Equal("kwok"))
			}
		}
	}, SpecTimeout(patience))

	It("grants evictions as far as the budget allows, and records them in its audit log", func(ctx SpecContext) {
		Eventually(func() (int32, error) {
			budget := &policyv1.PodDisruptionBudget{}
			err := theLab.WorkloadKube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "web"}, budget)
			return budget.Status.DisruptionsAllowed, err
		}).Should(BeEquivalentTo(1))
		for _, node := range nodes {
			setUnschedulable(ctx, node, true)
		}
		pods := podsOf(ctx, Default, web)
		Expect(evict(ctx, pods[0])).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(podsOf(ctx, g, web)).NotTo(ContainElement(HaveField("Name", pods[0].Name)))
		}).Should(Succeed(), "an evicted Pod goes")
		Expect(apierrors.IsTooManyRequests(evict(ctx, pods[1]))).To(BeTrue(), "its heir has nowhere to run yet")

		for _, node := range nodes {
			setUnschedulable(ctx, node, false)
		}
		Eventually(readyNodes(ctx, web)).Should(HaveLen(3))

		events, err := audit.Read(theLab.Workload.AuditLog())
		Expect(err).NotTo(HaveOccurred())
		Expect(audit.Evictions(events)).To(ConsistOf(And(
			HaveField("Pod", "default/"+pods[0].Name), HaveField("User", "lab"))))
		cordons := audit.Cordons(events)
		Expect(cordons).To(HaveLen(len(nodes)))
		Expect(cordons).To(HaveEach(ConsistOf(HaveField("To.IsZero()", BeFalse()))))
		Expect(audit.MaxOverlap(cordons)).To(Equal(len(nodes)))
		Eventually(func() (audit.Budget, error) {
			events, err := audit.Read(theLab.Workload.AuditLog())
			return audit.Budgets(events)["default/web"], err
		}).Should(Equal(audit.Budget{Desired: 2, Minimum: 2}))
	}, SpecTimeout(patience))

	It("has the Pods of a host Ready again after it was down", func(ctx SpecContext) {
		const node = "node-2"
		off[node]()
		Expect(writers[node].ShutDown(ctx, node)).To(Succeed())
		takeForNotReady(ctx, node)
		Consistently(readyNodes(ctx, agent), "2s").Should(ConsistOf("node-1", "node-3"), "nobody but the host says otherwise")

		switchOn(writers[node], newBoot(node, "boot-2"))
		Eventually(readyNodes(ctx, agent)).Should(ConsistOf(nodes))
		events, err := audit.Read(theLab.Workload.AuditLog())
		Expect(err).NotTo(HaveOccurred())
		Expect(audit.Downtimes(events)).To(And(HaveLen(1), HaveKeyWithValue(node, ConsistOf(HaveField("To.IsZero()", BeFalse())))))
	}, SpecTimeout(patience))

	It("works as before after its API server was killed", func(ctx SpecContext) {
		theLab.Workload.APIServer.Kill()
		Expect(theLab.WorkloadKube.List(ctx, &corev1.NodeList{})).NotTo(Succeed())
		Expect(theLab.Workload.RestartAPIServer(ctx)).To(Succeed())
		Eventually(readyNodes(ctx, agent)).Should(ConsistOf(nodes))
		list := &corev1.NodeList{}
		Expect(theLab.WorkloadKube.List(ctx, list)).To(Succeed())
		Expect(list.Items).To(HaveLen(len(nodes)))
		Expect(theLab.Err()).NotTo(HaveOccurred(), "no other process ended because of it")
	}, SpecTimeout(patience))
})
