// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// fakeConnector connects to the API server of the suite, but for the Clusters that are cut off.
type fakeConnector struct{ cut, late sync.Map }

func (f *fakeConnector) Connect(_ context.Context, cluster client.ObjectKey) (*workload.Cluster, error) {
	if _, is := f.cut.Load(cluster); is {
		return nil, workload.ErrUnreachable
	}
	cached := client.Reader(server.Client)
	if _, is := f.late.Load(cluster); is {
		cached = empty{}
	}
	return workload.New(server.Client, unlisted{server.Client}).WithCache(cached), nil
}

// unlisted is a cluster whose API server lists nothing.
type unlisted struct{ client.Client }

func (unlisted) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("a list of all there is in the cluster")
}

// empty is a cache that has not heard of anything yet.
type empty struct{ client.Reader }

func (empty) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func serving(h *infrav1.ElementalHost) {
	h.Finalizers = []string{infrav1.ElementalMachineFinalizer}
	h.Labels[clusterv1.ClusterNameLabel] = "c1"
	h.Spec.MachineRef = &infrav1.LocalReference{Name: "m1"}
	h.Status.Bootstrapped = true
	h.Status.OS.BootID = h.Namespace + "-boot"
}

func released(h *infrav1.ElementalHost) {
	serving(h)
	h.Labels[infrav1.NeedsResetLabel] = "true"
}

func makeElementalMachine(ctx context.Context, namespace string) {
	GinkgoHelper()
	machine := &infrav1.ElementalMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m1"}}
	Expect(server.Client.Create(ctx, machine)).To(Succeed())
}

func isGone(ctx context.Context, object client.Object) func() bool {
	return func() bool {
		return apierrors.IsNotFound(server.Client.Get(ctx, client.ObjectKeyFromObject(object), object))
	}
}

var _ = Describe("The deletion of a host", func() {
	It("waits for nothing when it serves no machine", func(ctx SpecContext) {
		host := makeHost(ctx, func(h *infrav1.ElementalHost) { h.Finalizers = []string{infrav1.ElementalMachineFinalizer} })
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		Eventually(isGone(ctx, host)).Should(BeTrue())
	})

	It("is no reason to reset it when clusterctl moves it, although Cluster and machine are gone", func(ctx SpecContext) {
		host := makeHost(ctx, serving, func(h *infrav1.ElementalHost) {
			h.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
		})
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		Consistently(server.Stored(ctx, host), time.Second).Should(HaveField("Labels", Not(HaveKey(infrav1.NeedsResetLabel))))
		apiserver.Change(ctx, server.Client, host, func() { host.Finalizers = nil }) // as clusterctl does
		Eventually(isGone(ctx, host)).Should(BeTrue())
	})

	It("waits until it is released, and then until it resets itself", func(ctx SpecContext) {
		host := makeHost(ctx, func(h *infrav1.ElementalHost) { makeElementalMachine(ctx, h.Namespace) }, serving)
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		Consistently(isGone(ctx, host)).Should(BeFalse())
		apiserver.Change(ctx, server.Client, host, func() { host.Labels[infrav1.NeedsResetLabel] = "true" })
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(infrav1.ResetReadyCondition, metav1.ConditionFalse, infrav1.WaitingForResetReason))
		Consistently(isGone(ctx, host)).Should(BeFalse())
		apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.Phase = infrav1.HostPhaseResetting })
		Consistently(isGone(ctx, host)).Should(BeFalse(), "it has not said that it has been wiped")
		apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.Phase = infrav1.HostPhaseReset })
		Eventually(isGone(ctx, host)).Should(BeTrue())
	})

	It("does not wait for ever for the reset", func(ctx SpecContext) {
		host := makeHost(ctx, serving)
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		Eventually(server.Stored(ctx, host)).Should(SatisfyAll(
			apiserver.HaveCondition(infrav1.ResetReadyCondition, metav1.ConditionFalse, infrav1.WaitingForResetReason),
			HaveField("Labels", HaveKeyWithValue(infrav1.NeedsResetLabel, "true"))), "its machine is gone already")
		clock.SetTime(time.Now().Add(infrav1.DefaultRebootTimeout + time.Minute))
		DeferCleanup(func() { clock.SetTime(time.Now()) })
		apiserver.Change(ctx, server.Client, host, func() { host.Labels["touched"] = "true" })
		Eventually(isGone(ctx, host)).Should(BeTrue())
	})

	It("is what a person does who does not expect the reset any more", func(ctx SpecContext) {
		host := makeHost(ctx, released)
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(infrav1.ResetReadyCondition, metav1.ConditionFalse, infrav1.WaitingForResetReason))
		// A write that is on its way would turn the conditions back.
		Eventually(settled(host)).WithPolling(apiserver.Settling).MustPassRepeatedly(2).Should(BeTrue())
		apiserver.ChangeStatus(ctx, server.Client, host, func() {
			for i := range host.Status.Conditions {
				host.Status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Hour))
			}
		})
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		Eventually(isGone(ctx, host)).Should(BeTrue())
	})
})

var _ = Describe("The Node of a host that is reset", func() {
	// makeNode makes what a kubelet registers that comes back after its Machine was deleted.
	makeNode := func(ctx context.Context, name, providerID, bootID string) *corev1.Node {
		GinkgoHelper()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
		Expect(server.Client.Create(ctx, node)).To(Succeed())
		node.Status.NodeInfo.BootID = bootID
		Expect(server.Client.Status().Update(ctx, node)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(server.Client.Delete(ctx, node))).To(Succeed()) })
		return node
	}
	reset := func(ctx SpecContext, host *infrav1.ElementalHost) {
		GinkgoHelper()
		apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.Phase = infrav1.HostPhaseReset })
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
	}

	DescribeTable("goes with it if it is the host's",
		func(ctx SpecContext, name, providerID, bootID func(*infrav1.ElementalHost) string, owned, goes bool) {
			host := makeHost(ctx, released)
			cluster := makeCluster(ctx, host.Namespace)
			node := makeNode(ctx, name(host), providerID(host), bootID(host))
			if owned {
				machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: "m2", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}}}
				machine.Spec.ClusterName, machine.Spec.Bootstrap.DataSecretName = cluster.Name, ptr.To("s")
				machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachine", Name: "m2"}
				Expect(server.Client.Create(ctx, machine)).To(Succeed())
				machine.Status.NodeRef.Name = node.Name
				Expect(server.Client.Status().Update(ctx, machine)).To(Succeed())
			}
			reset(ctx, host)
			Eventually(isGone(ctx, host)).Should(BeTrue())
			Expect(isGone(ctx, node)()).To(Equal(goes))
		},
		Entry("by its name", hostName, nothing, nothing, false, true),
		Entry("by its boot", nodeName, nothing, bootOfHost, false, true),
		Entry("by its provider ID", nodeName, ofHost, nothing, false, true),
		Entry("but not by its name alone", hostName, foreign, bootOfHost, false, false),
		Entry("but not another's", nodeName, nothing, nothing, false, false),
		Entry("but not that of a Machine that stays", hostName, nothing, nothing, true, false),
	)

	It("goes with it although the cache has not heard of it", func(ctx SpecContext) {
		host := makeHost(ctx, released, func(h *infrav1.ElementalHost) {
			h.Status.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineHostName, Address: nodeName(h)}}
		})
		cluster := makeCluster(ctx, host.Namespace)
		workloads.late.Store(client.ObjectKeyFromObject(cluster), true)
		nodes := []*corev1.Node{makeNode(ctx, hostName(host), "", ""), makeNode(ctx, nodeName(host), ofHost(host), "")}
		reset(ctx, host)
		Eventually(isGone(ctx, host)).Should(BeTrue())
		for _, node := range nodes {
			Expect(isGone(ctx, node)()).To(BeTrue())
		}
	})

	DescribeTable("is waited for while the workload cluster is away, but not for ever, whatever the clock of the management cluster says", func(ctx SpecContext, ahead time.Duration) {
		clock.SetTime(time.Now().Add(-ahead))
		DeferCleanup(func() { clock.SetTime(time.Now()) })
		host := makeHost(ctx, released)
		cluster := makeCluster(ctx, host.Namespace)
		node := makeNode(ctx, nodeName(host), ofHost(host), "")
		workloads.cut.Store(client.ObjectKeyFromObject(cluster), true)
		reset(ctx, host)
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(infrav1.ResetReadyCondition, metav1.ConditionFalse, infrav1.NodeNotDeletedReason))
		clock.SetTime(clock.Now().Add(nodePatience - time.Second))
		Consistently(isGone(ctx, host)).Should(BeFalse())
		clock.SetTime(clock.Now().Add(time.Second))
		// A change wakes the controller, unless a retry has done so since, and the host is gone.
		touch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"touched":"true"}}}`))
		Expect(client.IgnoreNotFound(server.Client.Patch(ctx, host, touch))).To(Succeed())
		Eventually(isGone(ctx, host)).Should(BeTrue())
		Expect(isGone(ctx, node)()).To(BeFalse())
	},
		Entry("5 min behind", -5*time.Minute), Entry("the same", time.Duration(0)), Entry("8 h ahead", 8*time.Hour),
	)
})

const nodePatience = 15 * time.Minute

func hostName(h *infrav1.ElementalHost) string   { return h.Name }
func nodeName(h *infrav1.ElementalHost) string   { return h.Namespace }
func nothing(*infrav1.ElementalHost) string      { return "" }
func foreign(*infrav1.ElementalHost) string      { return "cloud://1" }
func ofHost(h *infrav1.ElementalHost) string     { return "elemental://" + h.Namespace + "/" + h.Name }
func bootOfHost(h *infrav1.ElementalHost) string { return h.Status.OS.BootID }

// makeCluster makes the Cluster of the hosts in a namespace.
func makeCluster(ctx context.Context, namespace string) *clusterv1.Cluster {
	GinkgoHelper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c1"}}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: "c1"}
	Expect(server.Client.Create(ctx, cluster)).To(Succeed())
	return cluster
}
