// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

var _ = Describe("A look at a node", func() {
	// wholeCluster counts the lists of all Pods.
	wholeCluster := func(w *world) int {
		count := 0
		for _, given := range w.podLists {
			byNode := false
			if given.FieldSelector != nil {
				_, byNode = given.FieldSelector.RequiresExactMatch("spec.nodeName")
			}
			if !byNode && given.LabelSelector == nil {
				count++
			}
		}
		return count
	}
	looks := func(ctx context.Context, w *world, e kubevirt.Evacuation) kubevirt.Progress {
		GinkgoHelper()
		w.calls["list"], w.podLists = 0, nil
		progress, err := kubevirt.Evacuate(ctx, e)
		Expect(err).NotTo(HaveOccurred())
		return progress
	}

	It("costs the same however many other nodes and virtual machines there are", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		looks(ctx, w, w.evacuation(ctx))
		before := w.calls["list"]
		for i := range 20 {
			name := fmt.Sprintf("node-%d", 3+i)
			addNode(ctx, name)
			w.add(ctx, "vm-on-"+name)
			elsewhere := w.instance(ctx, "vm-on-"+name)
			elsewhere.Status.NodeName, elsewhere.Labels[kubevirtv1.NodeNameLabel] = name, name
			Expect(live.Update(ctx, elsewhere)).To(Succeed())
			w.leaveLauncher(ctx, "vm-on-"+name)
		}
		Expect(looks(ctx, w, w.evacuation(ctx)).Decisions).To(HaveLen(1))
		Expect(w.calls["list"]).To(BeNumerically("<=", before+1), "one more node has its Pods counted")
		Expect(wholeCluster(w)).To(BeZero())
	})

	It("reads the virtual machines of a namespace together where they are many", func(ctx SpecContext) {
		w := newWorld(ctx)
		for i := range 9 {
			w.add(ctx, fmt.Sprintf("vm-%d", i), labelled("infrastructure.cluster.x-k8s.io/elemental-vm-policy", "Block"))
		}
		progress := looks(ctx, w, w.evacuation(ctx))
		Expect(progress.Decisions).To(HaveEach(HaveField("Reason", "label infrastructure.cluster.x-k8s.io/elemental-vm-policy is Block")))
	})

	It("counts the Pods of all nodes where the first are full, and shares that for a while", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		fill := func(name string) {
			full := pod("fills-"+name, name, "4Gi")
			full.Namespace, full.Spec.Containers[0].Name, full.Spec.Containers[0].Image = w.namespace, "a", "registry.test/a"
			Expect(live.Create(ctx, &full)).To(Succeed())
		}
		fill(nodeTwo)
		last := "z-with-room"
		for i := range 11 {
			addNode(ctx, fmt.Sprintf("node-%d", 3+i))
			fill(fmt.Sprintf("node-%d", 3+i))
		}
		addNode(ctx, last)
		now := began
		e := w.evacuation(ctx)
		e.Pods = &kubevirt.SharedPods{Now: func() time.Time { return now }}
		Expect(looks(ctx, w, e).Message).To(Equal("waiting for 1 virtual machine to leave Node node-1"))
		Expect(wholeCluster(w)).To(Equal(1))
		Expect(looks(ctx, w, e).Message).To(Equal("waiting for 1 virtual machine to leave Node node-1"))
		Expect(wholeCluster(w)).To(BeZero())
		Expect(len(w.podLists)).To(BeNumerically("<=", 2), "no node is counted again meanwhile")

		By("the last being full, too")
		fill(last)
		now = now.Add(time.Minute)
		Expect(looks(ctx, w, e).Message).To(ContainSubstring("its migration waits for a node: no other node can take it"))
		Expect(wholeCluster(w)).To(Equal(1))
	})

	It("takes the Nodes that it is given", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		e := w.evacuation(ctx)
		e.Nodes = func(context.Context) ([]corev1.Node, error) { return nil, nil }
		Expect(looks(ctx, w, e).Message).To(ContainSubstring("there is no other node"))
		e.Nodes = func(context.Context) ([]corev1.Node, error) { return nil, errReset }
		_, err := kubevirt.Evacuate(ctx, e)
		Expect(err).To(MatchError(errReset))
	})
})
