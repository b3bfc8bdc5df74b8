// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machinetemplate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = It("A template reaches its owners, and Machines their template, by the watches alone", func() {
	allowInPlaceUpdates()
	w := newWorld()
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
	w.patch(imageB)
	Eventually(func() bool { return w.answerPauses() }).Should(BeTrue(), "the MachineDeployment is paused")
	Eventually(w.refersTo).ShouldNot(Equal("t"))
	Eventually(func() string { return apiserver.Get(ctx, c, w.template).Status.CurrentClone }).Should(Equal(w.refersTo()))
	Eventually(func() string { return apiserver.Get(ctx, c, w.template).Annotations[infrav1.RolledOutHashAnnotation] }).Should(Equal(w.hash()))
	Consistently(func() int { return len(w.clones()) }, "1s").Should(Equal(1))

	By("a Machine that is made, and runs it")
	made := ownertest.ElementalMachine(w.namespace, "made", w.refersTo(), imageB)
	made.Labels = map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.MachineDeploymentNameLabel: "md"}
	plane.Create(ctx, made)
	Eventually(func() *int32 { return apiserver.Get(ctx, c, w.template).Status.Machines }).Should(HaveValue(BeEquivalentTo(1)))
	before := made.DeepCopy()
	condition.True(made, infrav1.OSUpToDateCondition)
	Expect(c.Status().Patch(ctx, made, client.MergeFrom(before))).To(Succeed())
	Eventually(func() *int32 { return apiserver.Get(ctx, c, w.template).Status.UpToDateMachines }).Should(HaveValue(BeEquivalentTo(1)))

	By("a change of the Machine, about which the condition says the same later")
	apiserver.Change(ctx, c, made, func() { made.Spec.ProviderID = "elemental://ns/host" })
	Eventually(func() *int32 { return apiserver.Get(ctx, c, w.template).Status.UpToDateMachines }).Should(HaveValue(BeZero()))
	before = made.DeepCopy()
	condition.True(made, infrav1.OSUpToDateCondition)
	Expect(c.Status().Patch(ctx, made, client.MergeFrom(before))).To(Succeed())
	Eventually(func() *int32 { return apiserver.Get(ctx, c, w.template).Status.UpToDateMachines }).Should(HaveValue(BeEquivalentTo(1)))
	Expect(c.Delete(ctx, made)).To(Succeed())
	Eventually(func() *int32 { return apiserver.Get(ctx, c, w.template).Status.Machines }).Should(HaveValue(BeZero()))
})
