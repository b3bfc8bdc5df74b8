// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

const theirImage = "oci:registry.attacker.example.com/os:1"

var _ = Describe("UpdateMachine, asked by somebody else than Cluster API", func() {
	var victim *worker
	BeforeEach(func() { victim = newWorker() })

	It("puts nothing on a host of another namespace that a made-up ElementalMachine names", func() {
		theirs := newWorker()
		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: theirs.namespace, Name: "made-up"}}
		machine.Spec.ClusterName = "c"
		elemental := ownertest.ElementalMachine(theirs.namespace, "made-up", "new", theirImage)
		elemental.Spec.HostRef = &infrav1.LocalReference{Name: victim.host.Name}
		Expect(ask(machine, elemental)).To(beInProgress("Machine made-up does not exist"))
		Expect(victim.upgrades()).To(BeEmpty())
		Expect(theirs.upgrades()).To(BeEmpty())
	})

	It("puts nothing on a host of another namespace that has the name in a stored ElementalMachine", func() {
		theirs := newWorker()
		Expect(c.Delete(ctx, theirs.host)).To(Succeed())
		Expect(theirs.call()).To(beInProgress("ElementalHost h, which serves the Machine, does not exist"))
		Expect(victim.upgrades()).To(BeEmpty())
		Expect(theirs.upgrades()).To(BeEmpty())
	})

	It("puts no other image on a host than its ElementalMachine names", func() {
		elemental := victim.elemental.DeepCopy()
		elemental.Spec.OSVersionManagement = osversion.OfImage(theirImage)
		Expect(ask(victim.machine, elemental)).To(beInProgress("Waiting for Cluster API to request the present OS of ElementalMachine m"))
		Expect(victim.upgrades()).To(BeEmpty())
	})

	It("fails for an ElementalMachine that is not the Machine's", func() {
		elemental := ownertest.ElementalMachine(victim.namespace, "made-up", "new", theirImage)
		response := ask(victim.machine, elemental)
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusFailure))
		Expect(response.Message).To(Equal("desired.infrastructureMachine is ElementalMachine " + victim.namespace + "/made-up, and spec.infrastructureRef of Machine " +
			victim.namespace + "/m names ElementalMachine " + victim.namespace + "/m"))
		Expect(victim.upgrades()).To(BeEmpty())
	})

	DescribeTable("does not call done what is not there, or is ours, by the word of the request alone", func(name string, matcher OmegaMatcher) {
		handlers, _ := newHandlers()
		request := &runtimehooksv1.UpdateMachineRequest{}
		request.Desired.Machine.Namespace, request.Desired.Machine.Name = victim.namespace, name
		request.Desired.InfrastructureMachine = raw(map[string]any{"apiVersion": "other.io/v1", "kind": "OtherMachine", "metadata": map[string]any{"name": name}})
		response := &runtimehooksv1.UpdateMachineResponse{}
		handlers.UpdateMachine(ctx, request, response)
		Expect(response).To(matcher)
	},
		Entry("no Machine", "none", beInProgress("Machine none does not exist")),
		Entry("a Machine of ours", "m", HaveField("Status", runtimehooksv1.ResponseStatusFailure)),
	)

	It("has nothing to do for a Machine of another provider", func() {
		foreign := victim.machine.DeepCopy()
		foreign.ObjectMeta = metav1.ObjectMeta{Namespace: victim.namespace, Name: "foreign"}
		foreign.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "other.io", Kind: "OtherMachine", Name: "foreign"}
		plane.Create(ctx, foreign)
		handlers, _ := newHandlers()
		request := &runtimehooksv1.UpdateMachineRequest{}
		request.Desired.Machine = *foreign
		request.Desired.InfrastructureMachine = raw(map[string]any{"apiVersion": "other.io/v1", "kind": "OtherMachine", "metadata": map[string]any{"name": "foreign"}})
		response := &runtimehooksv1.UpdateMachineResponse{}
		handlers.UpdateMachine(ctx, request, response)
		Expect(response).To(beDone())
	})
})

// What keeps an attempt from being created, and what is answered.
var _ = Describe("UpdateMachine creates no attempt", func() {
	var w *worker
	BeforeEach(func() { w = newWorker() })

	controlledBy := func(apiVersion, kind, name string) {
		w.machine.OwnerReferences = nil
		if kind != "" {
			w.machine.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "1", Controller: ptr.To(true)}}
		}
		Expect(c.Update(ctx, w.machine)).To(Succeed())
	}

	DescribeTable("and waits", func(prepare func(), message OmegaMatcher) {
		prepare()
		response := w.call()
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
		Expect(response.RetryAfterSeconds).To(BeNumerically(">", 0))
		Expect(response.Message).To(message)
		Expect(w.upgrades()).To(BeEmpty())
	},
		Entry("in a namespace that has not opted in", func() {
			namespace := &corev1.Namespace{}
			Expect(c.Get(ctx, client.ObjectKey{Name: w.namespace}, namespace)).To(Succeed())
			delete(namespace.Labels, infrav1.ExtensionNamespaceLabel)
			Expect(c.Update(ctx, namespace)).To(Succeed())
		}, And(HavePrefix("Namespace spec-"), HaveSuffix(" has not opted in to upgrades in place: label it with "+infrav1.ExtensionNamespaceLabel+"=enabled"))),
		Entry("for a Machine that is not being updated", func() {
			w.machine.Annotations = nil
			Expect(c.Update(ctx, w.machine)).To(Succeed())
		}, Equal("Machine m is not marked as being updated in place")),
		Entry("for a host that serves another machine", func() {
			w.host.Spec.MachineRef.Name = "other"
			Expect(c.Update(ctx, w.host)).To(Succeed())
		}, Equal("ElementalHost h does not serve ElementalMachine m")),
		Entry("for an ElementalMachine of another Machine", func() {
			w.elemental.OwnerReferences[0].Name = "other"
		}, Equal("ElementalMachine m does not have Machine m among its owners")),
		Entry("for a Machine without an owner", func() { controlledBy("", "", "") },
			Equal("No upgrade is requested for ElementalHost h: Machine m has no owner that determines its OS: nothing is rolled out to it for a patched template: see condition RolloutBlocked of the ElementalMachineTemplate that it was made from")),
		Entry("for an owner of which it is not known what it wants", func() { controlledBy("controlplane.cluster.x-k8s.io/v1beta2", "KThreesControlPlane", "cp") },
			Equal("No upgrade is requested for ElementalHost h: cannot determine the OS that KThreesControlPlane cp, the owner of Machine m, wants: nothing is rolled out to it for a patched template: see condition RolloutBlocked of the ElementalMachineTemplate that it was made from")),
		Entry("for an owner that is gone", func() { Expect(c.Delete(ctx, w.md)).To(Succeed()) },
			Equal("No upgrade is requested for ElementalHost h: MachineSet ms, the owner of Machine m, or its MachineDeployment does not exist: recreate it, or delete the Machine")),
		Entry("for an owner whose template is gone", func() {
			Expect(c.Delete(ctx, ownertest.Template(w.namespace, "new", ""))).To(Succeed())
		}, Equal("No upgrade is requested for ElementalHost h: MachineSet ms, the owner of Machine m, or its MachineDeployment names ElementalMachineTemplate new "+
			"in its infrastructureRef, which does not exist: recreate it, or delete the Machine")),
		Entry("for an owner that names a template of another kind", func() {
			w.md.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.example.com", Kind: "OtherMachineTemplate", Name: "new"}
			Expect(c.Update(ctx, w.md)).To(Succeed())
		}, Equal("No upgrade is requested for ElementalHost h: MachineSet ms, the owner of Machine m, or its MachineDeployment names OtherMachineTemplate new of "+
			"infrastructure.example.com in its infrastructureRef, and only an ElementalMachineTemplate of infrastructure.cluster.x-k8s.io says which OS is wanted: "+
			"have it name one, or delete the Machine")),
		Entry("for an owner whose ManagedOSVersion has not been looked up", func() {
			template := ownertest.Template(w.namespace, "managed", "")
			template.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ManagedOSVersionName: "v2"}}
			w.wants(template)
		}, Equal("Waiting for ManagedOSVersion v2 to be looked up: see the conditions of ElementalMachineTemplate managed")),
	)

	It("and waits where the owner cannot be read", func() {
		handlers, _ := newHandlers()
		handlers.Owners.Live = unreadable{c}
		response := &runtimehooksv1.UpdateMachineResponse{}
		handlers.UpdateMachine(ctx, requestOf(w.machine, w.elemental), response)
		Expect(response).To(beInProgress("The state of the upgrade cannot be read at the moment"))
		Expect(w.upgrades()).To(BeEmpty())
	})

	It("and is done where the owner wants another OS by now, so that Cluster API goes on to that", func() {
		w.wants(ownertest.Template(w.namespace, "next", "oci:registry/os:3"))
		Expect(w.call()).To(beDone())
		Expect(w.upgrades()).To(BeEmpty())
	})

	It("and, where its control plane wants another OS by now, waits for that to be healthy: one unhealthy Machine would be deleted", func() {
		kcp := ownertest.KubeadmControlPlane(w.namespace, "cp", "c", "next")
		plane.Create(ctx, kcp, ownertest.Template(w.namespace, "next", "oci:registry/os:3"))
		w.machine.Labels[clusterv1.ClusterNameLabel], w.machine.Labels[clusterv1.MachineControlPlaneLabel] = "c", ""
		controlledBy(controlplanev1.GroupVersion.String(), "KubeadmControlPlane", "cp")
		health := func(status metav1.ConditionStatus) {
			w.machine.Status.Conditions = []metav1.Condition{{
				Type: controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition, Status: status, Reason: "x", LastTransitionTime: metav1.Now(),
			}}
			Expect(c.Status().Update(ctx, w.machine)).To(Succeed())
		}
		health(metav1.ConditionFalse)
		Expect(w.call()).To(beInProgress("waiting for condition EtcdPodHealthy of control plane Machine m"))
		health(metav1.ConditionTrue)

		// The cache has not heard of a second one, which is unhealthy.
		handlers, _ := newHandlers()
		handlers.Client = lagging{Client: c, machines: []clusterv1.Machine{*w.machine}}
		second := w.machine.DeepCopy()
		second.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "m2", Labels: w.machine.Labels}
		plane.Create(ctx, second)
		second.Status.Conditions = []metav1.Condition{{
			Type: controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition, Status: metav1.ConditionFalse, Reason: "x", LastTransitionTime: metav1.Now(),
		}}
		Expect(c.Status().Update(ctx, second)).To(Succeed())
		response := &runtimehooksv1.UpdateMachineResponse{}
		handlers.UpdateMachine(ctx, requestOf(w.machine, w.elemental), response)
		Expect(response).To(beInProgress("waiting for condition EtcdPodHealthy of control plane Machine m2, which would be deleted otherwise: repair its node"))

		Expect(c.Delete(ctx, second)).To(Succeed())
		Expect(w.call()).To(beDone())
		Expect(w.upgrades()).To(BeEmpty())
	})

	It("but translates one that there is, whatever the request, the owner and the namespace say by now", func() {
		w.attemptIs(infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeProgressing, Step: "Drain", StepIndex: 7, StepCount: 14})
		namespace := &corev1.Namespace{}
		Expect(c.Get(ctx, client.ObjectKey{Name: w.namespace}, namespace)).To(Succeed())
		namespace.Labels = nil
		Expect(c.Update(ctx, namespace)).To(Succeed())
		Expect(c.Delete(ctx, w.md)).To(Succeed())
		w.host.Labels = map[string]string{infrav1.NeedsResetLabel: "true"}
		Expect(c.Update(ctx, w.host)).To(Succeed())
		elemental := w.elemental.DeepCopy()
		elemental.Spec.OSVersionManagement = osversion.OfImage("oci:registry/os:9")
		Expect(ask(w.machine, elemental)).To(beInProgress("Drain (7/14)"))
		Expect(w.upgrades()).To(HaveLen(1))
	})

	It("and is not done by what the cache says alone", func() {
		w.boots(infrav1.HostOS{ImageURI: newImage, BootMode: "active"})
		stale := w.host.DeepCopy()
		w.boots(infrav1.HostOS{ImageURI: oldImage, BootMode: "active"})
		w.rollsOut()
		handlers, _ := newHandlers()
		handlers.Client = lagging{Client: c, host: stale}
		response := &runtimehooksv1.UpdateMachineResponse{}
		handlers.UpdateMachine(ctx, requestOf(w.machine, w.elemental), response)
		Expect(response).To(beInProgress("Upgrade requested"))
	})
})

// unreadable is an API server that tells nothing.
type unreadable struct{ client.Reader }

func (unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("the server is down")
}

// lagging is a cache that has not heard of the last write to a host, or to Machines, where there are any.
type lagging struct {
	client.Client
	host     *infrav1.ElementalHost
	machines []clusterv1.Machine
}

func (l lagging) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if list, areMachines := into.(*clusterv1.MachineList); areMachines && l.machines != nil {
		list.Items = l.machines
		return nil
	}
	return l.Client.List(ctx, into, options...)
}

func (l lagging) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if host, isHost := into.(*infrav1.ElementalHost); isHost && l.host != nil {
		l.host.DeepCopyInto(host)
		return nil
	}
	return l.Client.Get(ctx, key, into, options...)
}
