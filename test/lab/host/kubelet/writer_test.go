// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
)

var _ = Describe("The Node", func() {
	var (
		ctx    context.Context
		writer *kubelet.Writer
		boot   kubelet.Boot
		stop   func()
	)

	BeforeEach(func() {
		ctx = GinkgoT().Context()
		err := server.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: corev1.NamespaceNodeLease}})
		Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
		writer, err = kubelet.New(kubelet.Options{
			Config: server.Config, Address: "127.0.0.7", Heartbeat: 50 * time.Millisecond,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		})
		Expect(err).NotTo(HaveOccurred())
		boot = kubelet.Boot{
			Join: kubelet.Join{
				NodeName: "host-" + time.Now().Format("150405.000000000"),
				Labels:   map[string]string{"pool": "a"},
				Taints:   []corev1.Taint{{Key: "lab", Effect: corev1.TaintEffectNoSchedule}},
			},
			BootID: "boot-1", MachineID: "m", OSImage: "OS v1", KubeletVersion: "v1.36.3",
		}
		stop = func() {}
	})

	run := func() {
		running, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() { defer close(ended); writer.Run(running, boot) }()
		stop = func() { cancel(); <-ended }
		DeferCleanup(stop)
	}

	get := func(g Gomega) *corev1.Node {
		node := &corev1.Node{}
		g.Expect(server.Client.Get(ctx, client.ObjectKey{Name: boot.Join.NodeName}, node)).To(Succeed())
		return node
	}

	ready := func(n *corev1.Node) corev1.NodeCondition {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c
			}
		}
		return corev1.NodeCondition{}
	}

	renewed := func() time.Time {
		lease := &coordinationv1.Lease{}
		key := client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: boot.Join.NodeName}
		if err := server.Client.Get(ctx, key, lease); err != nil {
			return time.Time{}
		}
		return lease.Spec.RenewTime.Time
	}

	It("is registered as a kubelet does", func() {
		Expect(writer.Register(ctx, boot)).To(Succeed())
		node := get(Default)
		Expect(node.Spec.ProviderID).To(BeEmpty())
		Expect(node.Labels).To(HaveKeyWithValue("pool", "a"))
		Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelHostname, boot.Join.NodeName))
		Expect(node.Annotations).To(HaveKeyWithValue("kwok.x-k8s.io/node", "fake"))
		Expect(node.Spec.Taints).To(ContainElement(HaveField("Key", "lab")))
		Expect(node.Status.Allocatable.Pods().Value()).To(BeEquivalentTo(110))
		Expect(node.Status.Addresses).To(ContainElement(corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "127.0.0.7"}))
		Expect(ready(node).Status).To(Equal(corev1.ConditionTrue))
	})

	It("has a loopback address of its own by default", func() {
		var addresses []string
		for range 2 {
			nameless, err := kubelet.New(kubelet.Options{Config: server.Config})
			Expect(err).NotTo(HaveOccurred())
			boot.Join.NodeName += "x"
			Expect(nameless.Register(ctx, boot)).To(Succeed())
			addresses = append(addresses, get(Default).Status.Addresses[0].Address)
		}
		Expect(addresses).To(HaveEach(HavePrefix("127.")))
		Expect(addresses[0]).NotTo(Equal(addresses[1]))
	})

	It("keeps changes of other clients when its host boots another OS", func() {
		Expect(writer.Register(ctx, boot)).To(Succeed())
		node := get(Default)
		node.Spec.ProviderID, node.Spec.Unschedulable = "elemental://ns/host", true
		Expect(server.Client.Update(ctx, node)).To(Succeed())
		boot.BootID, boot.OSImage = "boot-2", "OS v2"
		run()
		Eventually(func(g Gomega) {
			n := get(g)
			g.Expect(n.Status.NodeInfo.BootID).To(Equal("boot-2"))
			g.Expect(n.Status.NodeInfo.OSImage).To(Equal("OS v2"))
			g.Expect(n.UID).To(Equal(node.UID))
			g.Expect(n.Spec.Unschedulable).To(BeTrue())
			g.Expect(n.Spec.ProviderID).To(Equal("elemental://ns/host"))
		}).Should(Succeed())
	})

	It("renews its lease while the kubelet runs, and only then", func() {
		run()
		Eventually(renewed).ShouldNot(BeZero())
		first := renewed()
		Eventually(renewed).Should(BeTemporally(">", first))
		stop()
		last := renewed()
		Consistently(renewed, "300ms").Should(BeTemporally("==", last))
		Expect(ready(get(Default)).Status).To(Equal(corev1.ConditionTrue), "nobody says that the host is gone")
	})

	It("reports a graceful shutdown, and is ready again afterwards", func() {
		run()
		Eventually(renewed).ShouldNot(BeZero())
		stop()
		Expect(writer.ShutDown(ctx, boot.Join.NodeName)).To(Succeed())
		c := ready(get(Default))
		Expect(c.Status).To(Equal(corev1.ConditionFalse))
		Expect(c.Reason).To(Equal("KubeletNotReady"))
		Expect(c.Message).To(Equal("node is shutting down"))
		boot.BootID = "boot-2"
		run()
		Eventually(func(g Gomega) { g.Expect(ready(get(g)).Status).To(Equal(corev1.ConditionTrue)) }).Should(Succeed())
	})

	It("reverts the conditions that were set while it was down", func() {
		run()
		Eventually(renewed).ShouldNot(BeZero())
		node := get(Default)
		for i := range node.Status.Conditions {
			node.Status.Conditions[i].Status = corev1.ConditionUnknown
		}
		Expect(server.Client.Status().Update(ctx, node)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(ready(get(g)).Status).To(Equal(corev1.ConditionTrue)) }).Should(Succeed())
	})

	It("is not recreated when it is deleted while the kubelet runs", func() {
		run()
		Eventually(renewed).ShouldNot(BeZero())
		node := get(Default)
		Expect(server.Client.Delete(ctx, node)).To(Succeed())
		Consistently(func() bool {
			return apierrors.IsNotFound(server.Client.Get(ctx, client.ObjectKeyFromObject(node), &corev1.Node{}))
		}, "300ms").Should(BeTrue())
	})
})
