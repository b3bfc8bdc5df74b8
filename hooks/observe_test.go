// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// withoutMachines is an API server that does not list Machines.
type withoutMachines struct{ client.Client }

func (r withoutMachines) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if _, areMachines := into.(*clusterv1.MachineList); areMachines {
		return errors.New("the server is down")
	}
	return r.Client.List(ctx, into, options...)
}

var _ = Describe("UpdateMachine", func() {
	var w *worker
	BeforeEach(func() { w = newWorker() })

	unmanaged := func() *infrav1.ElementalMachine {
		asked := w.elemental.DeepCopy()
		asked.Spec.OSVersionManagement = infrav1.OSVersionManagement{}
		return asked
	}
	notRead := beInProgress("The state of the upgrade cannot be read at the moment")

	Describe("asked for no image, does not call done", func() {
		It("a Machine that is gone", func() {
			Expect(c.Delete(ctx, w.machine)).To(Succeed())
			Expect(ask(w.machine, unmanaged())).To(beInProgress("Machine m does not exist"))
		})
		It("a Machine whose ElementalMachine is gone", func() {
			Expect(c.Delete(ctx, w.elemental)).To(Succeed())
			Expect(ask(w.machine, unmanaged())).To(beInProgress("ElementalMachine m, which Machine m names, does not exist"))
		})
		It("a Machine that names another ElementalMachine, which wants no image either", func() {
			w.elemental.Spec.OSVersionManagement = infrav1.OSVersionManagement{}
			Expect(c.Update(ctx, w.elemental)).To(Succeed())
			asked := unmanaged()
			asked.Name = "other"
			Expect(ask(w.machine, asked)).To(HaveField("Status", runtimehooksv1.ResponseStatusFailure))
		})
		It("a Machine of another provider whose name is that of an ElementalMachine", func() {
			w.elemental.Spec.OSVersionManagement = infrav1.OSVersionManagement{}
			Expect(c.Update(ctx, w.elemental)).To(Succeed())
			foreign := ownertest.Machine(ownertest.MachineSet(w.md, "ms", "new", 1), "foreign")
			foreign.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "other.io", Kind: "OtherMachine", Name: "m"}
			foreign.OwnerReferences = nil
			plane.Create(ctx, foreign)
			Expect(ask(foreign, unmanaged())).To(HaveField("RetryAfterSeconds", BeNumerically(">", 0)))
		})
		It("an ElementalMachine that cannot be understood", func() {
			w.elemental.Spec.OSVersionManagement = specs.OS(`{"imageUri":7}`)
			plane.WithFormerSchema(ctx, "ElementalMachine", func() { Expect(c.Update(ctx, w.elemental)).To(Succeed()) })
			Expect(ask(w.machine, unmanaged())).To(notRead)
		})
	})

	It("does not go on with a Machine that it was told has no image to run, and cannot look at", func() {
		w.elemental.Spec.HostRef = nil
		Expect(c.Update(ctx, w.elemental)).To(Succeed())
		handlers, _ := newHandlers()
		handlers.Live = unreadable{c}
		response := &runtimehooksv1.UpdateMachineResponse{}
		handlers.UpdateMachine(ctx, requestOf(w.machine, unmanaged()), response)
		Expect(response).To(notRead)
	})

	It("has Cluster API ask again soon about what was just requested, and rarely about what waits for a person", func() {
		Expect(w.call()).To(HaveField("RetryAfterSeconds", BeEquivalentTo(1)))
		w.attemptIs(infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeProgressing, Step: "Drain", StepIndex: 7, StepCount: 14})
		Expect(w.call()).To(HaveField("RetryAfterSeconds", BeEquivalentTo(5)))
		w.attemptIs(infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeFailed, Message: "no space"})
		Expect(w.call()).To(HaveField("RetryAfterSeconds", BeEquivalentTo(10)))
	})

	It("names the first of other attempts that have not ended", func() {
		for _, name := range []string{"b", "a"} {
			plane.Create(ctx, w.other(name))
		}
		Expect(w.call()).To(beInProgress("Waiting for ElementalHostUpgrade a of this Machine to end"))
	})

	Describe("of a host that runs the image, and is wanted to have another recovery system, too,", func() {
		BeforeEach(func() {
			w.boots(infrav1.HostOS{ImageURI: newImage, BootMode: "active"})
			template := ownertest.Template(w.namespace, "with-recovery", newImage)
			template.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ImageURI: "oci:registry/os:2", UpgradeRecovery: ptr.To(true)}}
			w.wants(template)
			w.elemental.Spec.OSVersionManagement = template.Spec.Template.Spec.OSVersionManagement
		})
		DescribeTable("goes by what another attempt has brought", func(host string, phase infrav1.UpgradePhase, matcher OmegaMatcher) {
			former := w.other("former")
			former.Spec.HostName, former.Spec.OSVersionManagement = host, w.elemental.Spec.OSVersionManagement
			plane.Create(ctx, former)
			former.Status.Phase = phase
			Expect(c.Status().Update(ctx, former)).To(Succeed())
			Expect(w.call()).To(matcher)
		},
			Entry("that has succeeded", "h", infrav1.UpgradeSucceeded, beDone()),
			Entry("not one of another host", "other", infrav1.UpgradeSucceeded, beInProgress("Upgrade requested")),
			Entry("not one that has failed", "h", infrav1.UpgradeFailed, beInProgress("Upgrade requested")),
		)
	})

	DescribeTable("waits for an attempt that is being deleted", func(status infrav1.ElementalHostUpgradeStatus, message string) {
		w.attemptIs(status)
		attempt := w.attempt()
		attempt.Finalizers = []string{"test.example.com/held"}
		Expect(c.Update(ctx, attempt)).To(Succeed())
		Expect(c.Delete(ctx, attempt)).To(Succeed())
		Expect(w.call()).To(beInProgress(message))
	},
		Entry("and has ended, as if it were gone", infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeFailed, Message: "no space"}, "Upgrade requested"),
		Entry("and has not ended, to its end", infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeProgressing, Step: "Drain", StepIndex: 7, StepCount: 14}, "Drain (7/14)"),
	)

	It("is done although an attempt has failed that would have kept its node cordoned after a roll-back", func() {
		cluster := &infrav1.ElementalCluster{}
		Expect(c.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "c"}, cluster)).To(Succeed())
		cluster.Spec.NodeUpgradeOption.OnRollback = infrav1.RollbackKeepCordoned
		Expect(c.Update(ctx, cluster)).To(Succeed())
		w.attemptIs(infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeFailed, Message: "no space"})
		Expect(w.attempt().Spec.Options.OnRollback).To(Equal(infrav1.RollbackKeepCordoned))
		w.boots(infrav1.HostOS{ImageURI: newImage, BootMode: "active"})
		Expect(w.call()).To(beDone())
	})

	It("goes by the name of the image where a host reports no digest", func() {
		w.pins("sha256:2")
		w.boots(infrav1.HostOS{ImageURI: newImage, BootMode: "active"})
		Expect(w.call()).To(beDone())
	})

	DescribeTable("has an attempt be looked after by the manager of its ElementalMachine", func(labels map[string]string, matcher OmegaMatcher) {
		w.elemental.Labels = labels
		w.call()
		Expect(w.attempt().Labels).To(matcher)
	},
		Entry("by one of several", map[string]string{clusterv1.WatchLabel: "one"}, HaveKeyWithValue(clusterv1.WatchLabel, "one")),
		Entry("by the only one", nil, Not(HaveKey(clusterv1.WatchLabel))),
	)

	It("asks nothing of a host in a namespace that cannot be read", func() {
		handlers, _ := newHandlers()
		handlers.Namespaces = &inplace.Prover{Live: unreadable{c}}
		response := &runtimehooksv1.UpdateMachineResponse{}
		handlers.UpdateMachine(ctx, requestOf(w.machine, w.elemental), response)
		Expect(response).To(notRead)
		Expect(w.upgrades()).To(BeEmpty())
	})

	It("does not let go of a control plane Machine whose fellows cannot be read", func() {
		kcp := ownertest.KubeadmControlPlane(w.namespace, "cp", "c", "next")
		plane.Create(ctx, kcp, ownertest.Template(w.namespace, "next", "oci:registry/os:3"))
		w.machine.Labels[clusterv1.ClusterNameLabel], w.machine.Labels[clusterv1.MachineControlPlaneLabel] = "c", ""
		w.machine.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlane", Name: "cp", UID: kcp.UID, Controller: new(true),
		}}
		Expect(c.Update(ctx, w.machine)).To(Succeed())
		handlers, _ := newHandlers()
		handlers.Client = withoutMachines{c}
		handlers.Live = handlers.Client
		response := &runtimehooksv1.UpdateMachineResponse{}
		handlers.UpdateMachine(ctx, requestOf(w.machine, w.elemental), response)
		Expect(response).To(notRead)
	})
})

// other is an attempt of the Machine under another name than the wanted one.
func (w *worker) other(name string) *infrav1.ElementalHostUpgrade {
	return &infrav1.ElementalHostUpgrade{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{infrav1.MachineNameLabel: "m"}},
		Spec: infrav1.ElementalHostUpgradeSpec{ClusterName: "c", MachineName: "m", ElementalMachineName: "m", HostName: "h",
			ImageURI: "x", OSVersionManagement: osversion.OfImage("x")},
	}
}
