// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/hooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/extensionserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// toItself connects to the API server of the suite, or to nothing.
type toItself struct{ err error }

func (t *toItself) Connect(context.Context, client.ObjectKey) (*workload.Cluster, error) {
	return workload.New(c, c), t.err
}

// topology is a cluster with a worker and a control plane node in a namespace of its own.
type topology struct {
	namespace string
	cluster   clusterv1.Cluster
	connector *toItself
	handlers  *hooks.Handlers
}

func newTopology(kind string) *topology {
	GinkgoHelper()
	t := &topology{namespace: plane.NewNamespace(ctx, optIn), connector: &toItself{}}
	t.handlers, _ = newHandlers()
	t.handlers.Outlook = &outlook.Viewer{Client: c, Workload: t.connector, Now: time.Now}
	t.cluster = clusterv1.Cluster{ObjectMeta: t.meta("edge"), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: "edge"},
	}}
	plane.Create(ctx, &t.cluster, &infrav1.ElementalCluster{ObjectMeta: t.meta("edge")})
	t.add("worker", nil)
	t.add("cp", map[string]string{clusterv1.MachineControlPlaneLabel: ""})
	DeferCleanup(func() { Expect(c.DeleteAllOf(ctx, &corev1.Node{})).To(Succeed()) })
	return t
}

func (t *topology) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "edge"}}
}

func (t *topology) node(name string) string { return t.namespace + "-" + name }

// add makes a Machine with its host and a Ready Node.
func (t *topology) add(name string, labels map[string]string) {
	GinkgoHelper()
	machine := &clusterv1.Machine{ObjectMeta: t.meta(name), Spec: clusterv1.MachineSpec{
		ClusterName: "edge", Bootstrap: clusterv1.Bootstrap{DataSecretName: new("bootstrap")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachine", Name: name},
	}}
	for key, value := range labels {
		machine.Labels[key] = value
	}
	host := &infrav1.ElementalHost{ObjectMeta: t.meta(name)}
	host.Spec.Approved, host.Spec.MachineRef = true, &infrav1.LocalReference{Name: name}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: t.node(name)}}
	plane.Create(ctx, machine, host, node)
	machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: node.Name}
	Expect(c.Status().Update(ctx, machine)).To(Succeed())
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	Expect(c.Status().Update(ctx, node)).To(Succeed())
}

func (t *topology) change(name string, change func(*corev1.Node)) {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(c.Get(ctx, client.ObjectKey{Name: t.node(name)}, node)).To(Succeed())
	change(node)
	Expect(c.Update(ctx, node)).To(Succeed())
}

// ask all three hooks, as a caller who was verified.
func (t *topology) ask() (cluster, controlPlane, workers runtimehooksv1.RetryResponseObject) {
	return t.askWith(extensionserver.WithVerifiedCaller(ctx))
}

func (t *topology) askWith(ctx context.Context) (cluster, controlPlane, workers runtimehooksv1.RetryResponseObject) {
	first, second, third := &runtimehooksv1.BeforeClusterUpgradeResponse{}, &runtimehooksv1.BeforeControlPlaneUpgradeResponse{}, &runtimehooksv1.BeforeWorkersUpgradeResponse{}
	t.handlers.BeforeClusterUpgrade(ctx, &runtimehooksv1.BeforeClusterUpgradeRequest{Cluster: t.cluster}, first)
	t.handlers.BeforeControlPlaneUpgrade(ctx, &runtimehooksv1.BeforeControlPlaneUpgradeRequest{Cluster: t.cluster}, second)
	t.handlers.BeforeWorkersUpgrade(ctx, &runtimehooksv1.BeforeWorkersUpgradeRequest{Cluster: t.cluster}, third)
	return first, second, third
}

func goOn(response runtimehooksv1.RetryResponseObject) {
	GinkgoHelper()
	Expect(response.GetStatus()).To(Equal(runtimehooksv1.ResponseStatusSuccess))
	Expect(response.GetRetryAfterSeconds()).To(BeZero())
	Expect(response.GetMessage()).To(BeEmpty())
}

func notNow(response runtimehooksv1.RetryResponseObject, message string) {
	GinkgoHelper()
	Expect(response.GetStatus()).To(Equal(runtimehooksv1.ResponseStatusSuccess), "not now is never a failure")
	Expect(response.GetRetryAfterSeconds()).To(BeEquivalentTo(15))
	Expect(response.GetMessage()).To(Equal(message))
}

var _ = Describe("The hooks before an upgrade of Kubernetes", func() {
	It("let it start where nothing is in its way", func() {
		cluster, controlPlane, workers := newTopology("ElementalCluster").ask()
		goOn(cluster)
		goOn(controlPlane)
		goOn(workers)
	})

	It("hold it while something stands against taking down a node that it is about", func() {
		t := newTopology("ElementalCluster")
		t.change("worker", func(node *corev1.Node) { node.Spec.Unschedulable = true })
		cluster, controlPlane, workers := t.ask()
		says := "Node/" + t.node("worker") + ": was cordoned by someone else and is left alone: kubectl uncordon it to let its upgrade start [NodeSchedulable]"
		notNow(cluster, says)
		goOn(controlPlane)
		notNow(workers, says)
		t.change("worker", func(node *corev1.Node) { node.Spec.Unschedulable = false })
		_, _, workers = t.ask()
		goOn(workers)
	})

	It("hold it while a person works on a paused node", func() {
		t := newTopology("ElementalCluster")
		t.change("cp", func(node *corev1.Node) {
			node.Annotations = map[string]string{infrav1.NodeUpgradePauseAnnotation: "lunch"}
		})
		_, controlPlane, workers := t.ask()
		notNow(controlPlane, "Node/"+t.node("cp")+": is paused: remove its annotation "+infrav1.NodeUpgradePauseAnnotation)
		goOn(workers)
	})

	It("hold it for a caller who is not verified, too, and tell nothing about nodes", func() {
		t := newTopology("ElementalCluster")
		t.change("worker", func(node *corev1.Node) { node.Spec.Unschedulable = true })
		logged := &strings.Builder{}
		log := funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{})
		cluster, controlPlane, workers := t.askWith(logr.NewContext(ctx, log))
		goOn(controlPlane)
		for _, response := range []runtimehooksv1.RetryResponseObject{cluster, workers} {
			Expect(response.GetRetryAfterSeconds()).To(BeEquivalentTo(15))
			Expect(response.GetMessage()).To(And(HavePrefix("A node of Cluster edge must not be taken down now."), ContainSubstring("kubectl ")))
			Expect(response.GetMessage()).NotTo(ContainSubstring(t.node("worker")))
			Expect(response.GetMessage()).NotTo(ContainSubstring("NodeSchedulable"))
		}
		Expect(logged.String()).To(ContainSubstring("Node/"+t.node("worker")+": was cordoned by someone else"), "a person can read it")
	})

	It("hold it while the workload cluster does not answer", func() {
		t := newTopology("ElementalCluster")
		t.connector.err = workload.ErrUnreachable
		cluster, _, _ := t.ask()
		notNow(cluster, "Waiting: cannot reach workload cluster edge: not connected, see condition RemoteConnectionProbe of the Cluster")
	})

	It("have no say in clusters of other infrastructure", func() {
		t := newTopology("OtherCluster")
		t.change("worker", func(node *corev1.Node) { node.Spec.Unschedulable = true })
		cluster, controlPlane, workers := t.ask()
		goOn(cluster)
		goOn(controlPlane)
		goOn(workers)
	})
})
