// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = DescribeTable("ReplacesInstead of a MachineDeployment",
	func(change func(*clusterv1.MachineDeployment), expected OmegaMatcher) {
		md := ownertest.MachineDeployment(plane.NewNamespace(ctx), "md", "c", "t", 3)
		change(md)
		Expect(ownersAt(0).ReplacesInstead(ctx, owner.ForMachineDeployment(md))).To(expected)
	},
	Entry("as required", func(*clusterv1.MachineDeployment) {}, BeEmpty()),
	Entry("with 0%", func(md *clusterv1.MachineDeployment) { surge(md, ptr.To(intstr.FromString("0%"))) }, BeEmpty()),
	Entry("with a percentage", func(md *clusterv1.MachineDeployment) { surge(md, ptr.To(intstr.FromString("10%"))) }, ContainSubstring("maxSurge 10%: set maxSurge 0")),
	Entry("with a surge Machine", func(md *clusterv1.MachineDeployment) { surge(md, ptr.To(intstr.FromInt32(1))) }, ContainSubstring("maxSurge 1: set maxSurge 0")),
	Entry("by default", func(md *clusterv1.MachineDeployment) { surge(md, nil) }, ContainSubstring("maxSurge 1 by default")),
	Entry("without a strategy type, which means RollingUpdate", func(md *clusterv1.MachineDeployment) { md.Spec.Rollout.Strategy.Type = "" }, BeEmpty()),
	Entry("OnDelete", func(md *clusterv1.MachineDeployment) {
		md.Spec.Rollout.Strategy.Type = clusterv1.OnDeleteMachineDeploymentStrategyType
	}, Equal("MachineDeployment md has spec.rollout.strategy.type OnDelete: set RollingUpdate")),
)

func surge(md *clusterv1.MachineDeployment, value *intstr.IntOrString) {
	md.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = value
}

var _ = DescribeTable("ReplacesInstead of a KubeadmControlPlane",
	func(change func(*controlplanev1.KubeadmControlPlane), expected OmegaMatcher) {
		kcp := ownertest.KubeadmControlPlane(plane.NewNamespace(ctx), "cp", "c", "t")
		change(kcp)
		Expect(ownersAt(0).ReplacesInstead(ctx, owner.ForKubeadmControlPlane(kcp))).To(expected)
	},
	Entry("as required", func(*controlplanev1.KubeadmControlPlane) {}, BeEmpty()),
	Entry("without a strategy type, which means RollingUpdate", func(kcp *controlplanev1.KubeadmControlPlane) {
		kcp.Spec.Rollout.Strategy.Type = ""
	}, BeEmpty()),
	Entry("with another strategy type", func(kcp *controlplanev1.KubeadmControlPlane) {
		kcp.Spec.Rollout.Strategy.Type = "OnDelete"
	}, Equal("KubeadmControlPlane cp has spec.rollout.strategy.type OnDelete: set RollingUpdate")),
	Entry("with two replicas", func(kcp *controlplanev1.KubeadmControlPlane) {
		kcp.Spec.Replicas = ptr.To[int32](2)
	}, Equal("KubeadmControlPlane cp has spec.replicas 2 and cannot be updated in place by Cluster API, "+
		"because Cluster API accepts maxSurge 0 with 3 replicas or more only: "+
		"leave its reference as it is and patch the ElementalMachineTemplate that it refers to, or set spec.replicas 3 and spec.rollout.strategy.rollingUpdate.maxSurge 0")),
	Entry("with one replica and a surge Machine, which Cluster API requires then", func(kcp *controlplanev1.KubeadmControlPlane) {
		kcp.Spec.Replicas = ptr.To[int32](1)
		kcp.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = nil
	}, And(HavePrefix("KubeadmControlPlane cp has spec.replicas 1 and cannot be updated in place"), Not(ContainSubstring("by default")))),
	Entry("with three replicas and a surge Machine", func(kcp *controlplanev1.KubeadmControlPlane) {
		kcp.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = nil
	}, Equal("KubeadmControlPlane cp has spec.rollout.strategy.rollingUpdate.maxSurge 1 by default: set maxSurge 0")),
)

var _ = Describe("ReplacesInstead with spec.rollout.after", func() {
	It("names it while Machines are older", func() {
		r := newRollingOut()
		owners := ownersAt(0)
		r.md.Spec.Rollout.After = metav1.NewTime(r.old.CreationTimestamp.Add(longAfter))
		Expect(owners.ReplacesInstead(ctx, owner.ForMachineDeployment(r.md))).To(ContainSubstring("spec.rollout.after"))
		r.md.Spec.Rollout.After = metav1.NewTime(r.old.CreationTimestamp.Add(-longAfter))
		Expect(owners.ReplacesInstead(ctx, owner.ForMachineDeployment(r.md))).To(BeEmpty())

		By("not while only MachineSets without Machines are older")
		r.md.Spec.Rollout.After = metav1.NewTime(r.old.CreationTimestamp.Add(longAfter))
		ownertest.Observe(ctx, c, r.old, 0)
		ownertest.Observe(ctx, c, r.bad, 0)
		Expect(owners.ReplacesInstead(ctx, owner.ForMachineDeployment(r.md))).To(BeEmpty())
	})

	It("names it while Machines of a control plane are older", func() {
		kcp := ownertest.KubeadmControlPlane(plane.NewNamespace(ctx), "cp", "c", "t")
		plane.Create(ctx, kcp)
		kcp.Spec.Rollout.After = metav1.NewTime(kcp.CreationTimestamp.Add(longAfter))
		Expect(ownersAt(0).ReplacesInstead(ctx, owner.ForKubeadmControlPlane(kcp))).To(BeEmpty())
		plane.Create(ctx, ownertest.ControlPlaneMachine(kcp, "m"))
		Expect(ownersAt(0).ReplacesInstead(ctx, owner.ForKubeadmControlPlane(kcp))).To(HavePrefix("KubeadmControlPlane cp has a spec.rollout.after"))
		kcp.Spec.Rollout.After = metav1.NewTime(kcp.CreationTimestamp.Add(-longAfter))
		Expect(ownersAt(0).ReplacesInstead(ctx, owner.ForKubeadmControlPlane(kcp))).To(BeEmpty())
	})
})

var _ = Describe("WantsOS", func() {
	It("is what the MachineDeployment refers to, not its MachineSet", func() {
		r := newRollingOut()
		namespace := r.md.Namespace
		plane.Create(ctx, ownertest.Template(namespace, "good", "good-image"))
		owners := ownersAt(0)
		_, found, err := owner.WantsOS(ctx, owners.Client, r.machine)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeFalse(), "the template does not exist")

		r.md.Spec.Template.Spec.InfrastructureRef.Name = "good"
		Expect(c.Update(ctx, r.md)).To(Succeed())
		want, found, err := owner.WantsOS(ctx, owners.Client, r.machine)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeTrue())
		Expect(want.TemplateName).To(Equal("good"))
		Expect(osversion.Same(want.OSVersionManagement, osversion.OfImage("good-image"))).To(BeTrue())
	})
	It("is what the control plane refers to", func() {
		namespace := plane.NewNamespace(ctx)
		kcp := ownertest.KubeadmControlPlane(namespace, "cp", "c", "t")
		plane.Create(ctx, kcp, ownertest.Template(namespace, "t", "image"))
		want, found, err := owner.WantsOS(ctx, c, ownertest.ControlPlaneMachine(kcp, "m"))
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeTrue())
		Expect(want.TemplateName).To(Equal("t"))
	})
	It("is unknown for a Machine without an owner", func() {
		_, found, err := owner.WantsOS(ctx, ownersAt(0).Client, &clusterv1.Machine{})
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeFalse())
	})
	It("is unknown, but not an error, if the kind of the owner is not installed", func() {
		without, err := client.New(plane.Config, client.Options{Scheme: plane.Scheme, Mapper: meta.NewDefaultRESTMapper(nil)})
		Expect(err).NotTo(HaveOccurred())
		kcp := ownertest.KubeadmControlPlane("ns", "cp", "c", "t")
		_, found, err := owner.WantsOS(ctx, without, ownertest.ControlPlaneMachine(kcp, "m"))
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeFalse())
	})
})

// withoutControlPlanes is a cluster whose KubeadmControlPlanes cannot be listed.
type withoutControlPlanes struct {
	client.Client
	because error
}

func (w withoutControlPlanes) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, isControlPlanes := list.(*controlplanev1.KubeadmControlPlaneList); isControlPlanes {
		return w.because
	}
	return w.Client.List(ctx, list, options...)
}

var _ = Describe("List", func() {
	It("finds other owners if the KubeadmControlPlane CRD is not installed, and fails if that cannot be determined", func() {
		namespace := plane.NewNamespace(ctx)
		plane.Create(ctx, ownertest.MachineDeployment(namespace, "a", "c", "t", 1))
		owners := ownersAt(0)
		owners.Client = withoutControlPlanes{c, &meta.NoKindMatchError{}}
		Expect(owners.List(ctx, namespace, "t")).To(HaveLen(1))
		owners = ownersAt(0)
		owners.Client = withoutControlPlanes{c, apierrors.NewInternalError(context.DeadlineExceeded)}
		_, err := owners.List(ctx, namespace, "t")
		Expect(err).To(MatchError(ContainSubstring("listing KubeadmControlPlanes")))
	})

	It("leaves out an owner that is being deleted", func() {
		md := ownertest.MachineDeployment(plane.NewNamespace(ctx), "a", "c", "t", 1)
		md.Finalizers = []string{"test.example.com/keep"}
		plane.Create(ctx, md)
		Expect(c.Delete(ctx, md)).To(Succeed())
		Expect(ownersAt(0).List(ctx, md.Namespace, "t")).To(BeEmpty())
	})

	It("looks at no MachineDeployments that refer to other templates", func() {
		namespace := plane.NewNamespace(ctx)
		plane.Create(ctx, ownertest.MachineDeployment(namespace, "one", "c", "t", 1), ownertest.MachineDeployment(namespace, "other", "c", "t2", 1),
			ownertest.KubeadmControlPlane(namespace, "other", "c", "t2"))
		counting := &apiserver.Counting{Client: c}
		owners := ownersAt(0)
		owners.Client = counting
		Expect(owners.List(ctx, namespace, "t")).To(HaveExactElements(HaveField("Object()", HaveField("GetName()", "one"))))
		Expect(counting.Listed()).To(BeEquivalentTo(2), "the control plane is looked at, and the MachineDeployment")
	})

	It("finds only owners that use our templates", func() {
		namespace := plane.NewNamespace(ctx)
		foreign := ownertest.MachineDeployment(namespace, "foreign", "c", "t", 1)
		foreign.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "other.io", Kind: "OtherMachineTemplate", Name: "t"}
		plane.Create(ctx, foreign, ownertest.MachineDeployment(namespace, "b", "c", "t", 1), ownertest.MachineDeployment(namespace, "a", "c", "t", 1),
			ownertest.KubeadmControlPlane(namespace, "z", "c", "t"))
		owners, err := ownersAt(0).List(ctx, namespace, "t")
		Expect(err).NotTo(HaveOccurred())
		names := []string{}
		for _, found := range owners {
			names = append(names, owner.Describe(found))
		}
		Expect(names).To(Equal([]string{"KubeadmControlPlane z", "MachineDeployment a", "MachineDeployment b"}))
	})
})
