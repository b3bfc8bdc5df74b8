// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machinetemplate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = It("A template reaches its Machines, and Machines their template, by the watches alone", func() {
	w := newWorld()
	w.addOfPool(w.set, "m1", "t", imageA)
	w.reconcile()
	mgr := plane.NewManager(clusterview.AddIndexes)
	owners := &owner.Owners{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}}
	reconciler := &machinetemplate.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Owners: owners, Recorder: mgr.GetEventRecorder("machinetemplate"),
	}
	Expect(reconciler.SetupWithManager(mgr, apiserver.OnlyWoken())).To(Succeed())
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	DeferCleanup(func() {
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
	})
	status := func() infrav1.ElementalMachineTemplateStatus { return apiserver.Get(ctx, c, w.template).Status }
	w.patch(imageB)
	Eventually(w.attempts).Should(HaveLen(1))
	Eventually(status).Should(HaveField("CurrentRollouts", ConsistOf(w.rollouts()[0].Name)))
	Consistently(func() int { return len(w.rollouts()) }, "1s").Should(Equal(1))

	By("the end of its attempt, and a host that runs it")
	w.succeed(imageB)
	Eventually(status).Should(And(HaveField("UpToDateMachines", HaveValue(BeEquivalentTo(1))), HaveField("CurrentRollouts", BeEmpty())))

	By("a Machine that is made, and runs it")
	w.addOfPool(w.set, "made", "t", imageB)
	Eventually(status).Should(HaveField("UpToDateMachines", HaveValue(BeEquivalentTo(2))))

	By("a change of the Machine, about which the condition says the same later")
	made := w.elemental("made")
	apiserver.Change(ctx, c, made, func() { made.Spec.ProviderID = "elemental://ns/host" })
	Eventually(status).Should(HaveField("UpToDateMachines", HaveValue(BeEquivalentTo(1))))
	before := made.DeepCopy()
	condition.True(made, infrav1.OSUpToDateCondition)
	Expect(c.Status().Patch(ctx, made, client.MergeFrom(before))).To(Succeed())
	Eventually(status).Should(HaveField("UpToDateMachines", HaveValue(BeEquivalentTo(2))))
	Expect(c.Delete(ctx, made)).To(Succeed())
	Eventually(status).Should(HaveField("Machines", HaveValue(BeEquivalentTo(1))))

	By("an owner that refers to another template")
	next := ownertest.Template(w.namespace, "next", imageC)
	plane.Create(ctx, next)
	Eventually(func() *int32 { return apiserver.Get(ctx, c, next).Status.Machines }).Should(HaveValue(BeZero()))
	apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Template.Spec.InfrastructureRef.Name = "next" })
	Eventually(func() *int32 { return apiserver.Get(ctx, c, next).Status.Machines }).Should(HaveValue(BeEquivalentTo(1)))
})
