// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("What controls a Machine", func() {
	pause := func(of client.Object) {
		apiserver.Change(ctx, c, of, func() { annotations.AddAnnotations(of, map[string]string{clusterv1.PausedAnnotation: ""}) })
	}
	pausedOf := func(machine *clusterv1.Machine) string {
		GinkgoHelper()
		found, err := owner.ControllersOf(ctx, c, machine)
		Expect(err).NotTo(HaveOccurred())
		return found.Paused()
	}

	It("is paused with its MachineDeployment, or by its MachineSet", func() {
		md := ownertest.MachineDeployment(plane.NewNamespace(ctx), "md", "c", "t", 1)
		plane.Create(ctx, md)
		set := ownertest.MachineSet(md, "set", "t", 1)
		plane.Create(ctx, set)
		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: md.Namespace, Name: "m"}}
		Expect(pausedOf(machine)).To(BeEmpty(), "nothing controls it")
		machine.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, clusterv1.GroupVersion.WithKind("MachineSet"))}
		Expect(pausedOf(machine)).To(BeEmpty())

		pause(set)
		Expect(pausedOf(machine)).To(Equal("MachineSet set is paused: remove its annotation cluster.x-k8s.io/paused"))
		pause(md)
		Expect(pausedOf(machine)).To(Equal("MachineDeployment md is paused: remove its annotation cluster.x-k8s.io/paused"))
		apiserver.Change(ctx, c, md, func() { md.Spec.Paused = ptr.To(true) })
		Expect(pausedOf(machine)).To(Equal("MachineDeployment md is paused: unset its spec.paused"))
	})

	It("is paused by its control plane, as 'clusterctl alpha rollout pause' does", func() {
		kcp := ownertest.KubeadmControlPlane(plane.NewNamespace(ctx), "cp", "c", "t")
		plane.Create(ctx, kcp)
		machine := ownertest.ControlPlaneMachine(kcp, "m")
		Expect(pausedOf(machine)).To(BeEmpty())
		pause(kcp)
		Expect(pausedOf(machine)).To(Equal("KubeadmControlPlane cp is paused: remove its annotation cluster.x-k8s.io/paused"))
	})

	It("is nothing where it is gone, or of another group", func() {
		kcp := ownertest.KubeadmControlPlane(plane.NewNamespace(ctx), "cp", "c", "t")
		machine := ownertest.ControlPlaneMachine(kcp, "m")
		Expect(owner.ControllersOf(ctx, c, machine)).To(Equal(owner.Controllers{}))
		for _, group := range []string{"example.com/v1", "a/b/c"} {
			machine.OwnerReferences[0].APIVersion = group
			Expect(owner.ControllersOf(ctx, c, machine)).To(Equal(owner.Controllers{}))
			Expect(owner.RollsOut(ctx, c, machine, time.Now())).To(BeEmpty())
		}
	})
})
