// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("What a user has to end on a template", func() {
	var w *world
	BeforeEach(func() {
		allowInPlaceUpdates()
		w = newWorld()
	})

	// attempt has an attempt for a template on a node, with holds.
	attempt := func(node, template string, reasons ...infrav1.HoldReason) *infrav1.ElementalHostUpgrade {
		GinkgoHelper()
		made := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "of-" + node}}
		made.Spec = infrav1.ElementalHostUpgradeSpec{
			ClusterName: "c", MachineName: node, ElementalMachineName: node, HostName: "host-" + node, TemplateName: template,
			ImageURI: imageB, OSVersionManagement: ownertest.OS(imageB),
		}
		plane.Create(ctx, made)
		apiserver.ChangeStatus(ctx, c, made, func() {
			made.Status.Phase, made.Status.NodeName = infrav1.UpgradeProgressing, node
			for _, reason := range reasons {
				hold := infrav1.NewHold(reason, "Node/"+node, "because of "+string(reason))
				hold.Since = metav1.NewTime(time.Now().Add(-time.Minute))
				made.Status.Holds = append(made.Status.Holds, *hold)
			}
		})
		return made
	}
	messages := func() []string {
		found := []string{}
		for _, hold := range w.template.Status.Holds {
			found = append(found, string(hold.Reason)+": "+hold.Message)
		}
		return found
	}

	It("is that its Cluster is paused, at the first look and in one Event", func() {
		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = new(true) })
		w.patch(imageB)
		w.reconcileOnce()
		Expect(messages()).To(Equal([]string{"WaitingForCluster: MachineDeployment md is paused, by itself or with Cluster c"}))
		since := w.template.Status.Holds[0].Since
		Expect(w.template.Status.Holds[0].Who).To(Equal(infrav1.HoldByUser))
		Expect(w.events.Events).To(Receive(And(HavePrefix("Warning"), ContainSubstring(infrav1.EventRolloutHeld))))
		w.reconcileOnce()
		Expect(w.template.Status.Holds[0].Since).To(Equal(since))
		Expect(w.events.Events).NotTo(Receive())

		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = nil })
		w.reconcile()
		Expect(w.template.Status.Holds).To(BeEmpty())
	})

	It("is what holds the attempts for it and its clones, each reason once", func() {
		w.patch(imageB)
		w.reconcile()
		clone := w.clones()[0].Name
		answers := attempt("node-0", clone, infrav1.HoldHostNotReporting)
		apiserver.ChangeStatus(ctx, c, answers, func() { answers.Status.Holds[0].Since = metav1.Now() })
		attempt("node-2", clone, infrav1.HoldHostNotReporting, infrav1.HoldNoSlot)
		attempt("node-1", clone, infrav1.HoldHostNotReporting)
		attempt("node-3", "t", infrav1.HoldPreflightFailed, infrav1.HoldPreflightFailed)
		attempt("node-4", "another", infrav1.HoldImageQuarantined)
		attempt("node-5", clone, infrav1.HoldNoSlot, infrav1.HoldSoaking)
		w.reconcile()
		Expect(messages()).To(Equal([]string{
			"HostNotReporting: Node node-1: because of HostNotReporting (and 1 more)",
			"PreflightFailed: Node node-3: because of PreflightFailed",
		}))
		Expect(w.template.Status.Holds[0].Object).To(Equal("Node/node-1"))
	})

	It("is kept through an error, and what an owner's strategy is in the way of is said once", func() {
		apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = nil })
		w.patch(imageB)
		w.reconcileOnce()
		Expect(w.template.Status.Holds).To(HaveExactElements(HaveField("Reason", BeEquivalentTo(infrav1.UnsupportedStrategyReason))))
		Expect(w.events.Events).To(HaveLen(1), "that of the condition")
		healthy := w.reconciler.Client
		w.reconciler.Client = unreadable{Client: healthy, kind: &infrav1.ElementalHostUpgrade{}}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).To(HaveOccurred())
		Expect(apiserver.Get(ctx, c, w.template).Status.Holds).To(HaveLen(1))
	})
})
