// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts/attemptstest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// controlledBy a kind. Nothing reads the owner itself.
func controlledBy(group, kind string) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: group + "/v1beta1", Kind: kind, Name: "of-" + kind, UID: "1", Controller: new(true)}
}

// addOther adds a Machine that was made from the template and that no MachineDeployment manages, with its Node.
func (w *world) addOther(ctx context.Context, name string, controller *metav1.OwnerReference) {
	GinkgoHelper()
	w.addWorker(ctx, name)
	labels := map[string]string{clusterv1.ClusterNameLabel: cluster}
	machine, elemental := &clusterv1.Machine{}, &infrav1.ElementalMachine{}
	key := client.ObjectKey{Namespace: w.namespace, Name: name}
	Expect(live.Get(ctx, key, machine)).To(Succeed())
	if machine.Labels = labels; controller != nil {
		machine.OwnerReferences = []metav1.OwnerReference{*controller}
	}
	if controller != nil && controller.Kind != "MachineSet" {
		labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	Expect(live.Update(ctx, machine)).To(Succeed())
	Expect(live.Get(ctx, key, elemental)).To(Succeed())
	elemental.Labels = labels
	Expect(live.Update(ctx, elemental)).To(Succeed())
}

func (w *world) setOption(ctx context.Context, change func(*infrav1.NodeUpgradeOption)) {
	GinkgoHelper()
	elemental := &infrav1.ElementalCluster{}
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: cluster}, elemental)).To(Succeed())
	change(&elemental.Spec.NodeUpgradeOption)
	Expect(live.Update(ctx, elemental)).To(Succeed())
}

// beginDirect notes on a Machine that a rollout brings it to another OS.
func (w *world) beginDirect(ctx context.Context, name string) {
	GinkgoHelper()
	elemental := &infrav1.ElementalMachine{}
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, elemental)).To(Succeed())
	owner.Note(elemental, template, "another", "rollout")
	Expect(live.Update(ctx, elemental)).To(Succeed())
}

// addFormer adds an upgrade of a host that has ended, and took that long from the trigger.
func (w *world) addFormer(ctx context.Context, host string, took time.Duration) {
	GinkgoHelper()
	former := attemptstest.New(w.namespace, "former", cluster, host, "oci://registry.test/os:v1")
	Expect(live.Create(ctx, former)).To(Succeed())
	began := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	ended := metav1.NewTime(began.Add(took))
	former.Status = infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeSucceeded, Steps: []infrav1.UpgradeStepStatus{
		{Name: attempts.StepReboot, StartTime: began, CompletionTime: &ended}, {Name: attempts.StepAssess, StartTime: ended, CompletionTime: &ended},
	}}
	Expect(live.Status().Update(ctx, former)).To(Succeed())
}

var _ = Describe("A request of an upgrade by a patched template", func() {
	const of = "controlplane.cluster.x-k8s.io"

	DescribeTable("is rejected with what is in the way of its Machines, in the same words", func(ctx SpecContext, controller *metav1.OwnerReference) {
		w := newEmptyWorld(ctx)
		w.addOther(ctx, "other", controller)
		w.changeNode(ctx, "other", cordon)
		err := w.ask(ctx, "v2")
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring("the upgrade cannot start now:\nNode/" + w.node("other") +
			": was cordoned by someone else and is left alone: kubectl uncordon it to let its upgrade start [NodeSchedulable]\nRetry when")))
		w.changeNode(ctx, "other", func(node *corev1.Node) { node.Spec.Unschedulable = false })
		Expect(w.ask(ctx, "v2")).To(Succeed())
	},
		Entry("of a K3s control plane", controlledBy(of, "KThreesControlPlane")),
		Entry("of a MachineSet without a MachineDeployment", controlledBy(clusterv1.GroupVersion.Group, "MachineSet")),
		Entry("without an owner", nil),
	)

	DescribeTable("is not checked where it reaches no Machine", func(ctx SpecContext, change func(context.Context, *world), controller *metav1.OwnerReference) {
		w := newEmptyWorld(ctx)
		w.addOther(ctx, "other", controller)
		w.changeNode(ctx, "other", cordon)
		change(ctx, w)
		Expect(w.ask(ctx, "v2")).To(Succeed())
		Expect(person.Warnings).To(BeEmpty())
	},
		Entry("of a template that a topology would put back", func(ctx context.Context, w *world) {
			owned := &infrav1.ElementalMachineTemplate{}
			Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: template}, owned)).To(Succeed())
			owned.Labels = map[string]string{clusterv1.ClusterTopologyOwnedLabel: ""}
			Expect(live.Update(ctx, owned)).To(Succeed())
		}, controlledBy(of, "KThreesControlPlane")),
	)

	It("takes over a rollout that has not ended, also where the template has other Machines in the Cluster", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.addOther(ctx, "other", controlledBy(of, "KThreesControlPlane"))
		w.changeNode(ctx, "other", makeNotReady)
		Expect(w.ask(ctx, "v2")).To(MatchError(ContainSubstring("[OtherNodes]")))
		w.beginDirect(ctx, "other")
		Expect(w.ask(ctx, "v2")).To(Succeed())
		Expect(person.Warnings).To(ContainElement(ContainSubstring("A rollout is in progress, and continues with this change")))
	})

	It("tells the plan on a dry run: control planes first, one at a time", func(ctx SpecContext) {
		w := newEmptyWorld(ctx)
		w.setOption(ctx, func(option *infrav1.NodeUpgradeOption) { option.MaxConcurrent = 2 })
		w.addOther(ctx, "alone", nil)
		for _, name := range []string{"z", "y", "x"} {
			w.addOther(ctx, name, controlledBy(of, "KThreesControlPlane"))
		}
		Expect(w.ask(ctx, "v2", client.DryRunAll)).To(Succeed())
		Expect(person.Warnings).To(HaveExactElements(
			"Cluster edge: 4 nodes to upgrade, 2 at a time",
			"1. Node "+w.node("x"), "2. Node "+w.node("y"), "3. Node "+w.node("z"), "4. Node "+w.node("alone"),
		))
	})

	It("says of a small control plane for how long its API is down, and what permits that, and is admitted", func(ctx SpecContext) {
		w := newEmptyWorld(ctx)
		w.addOther(ctx, "cp", controlledBy(of, "KThreesControlPlane"))
		w.addNode(ctx, "other")
		loses := "Beware of Cluster/edge: loses its API while Node " + w.node("cp") + " is down "
		Expect(w.ask(ctx, "v2", client.DryRunAll)).To(Succeed())
		Expect(person.Warnings).To(HaveExactElements("Cluster edge: 1 node to upgrade, 1 at a time", "1. Node "+w.node("cp"), loses+"(for how long is not known yet): etcd has no majority without it. "+
			"Set nodeUpgradeOption.allowQuorumLoss in ElementalCluster edge to permit that [ControlPlaneQuorum]"))

		w.addFormer(ctx, "cp", 170*time.Second)
		w.setOption(ctx, func(option *infrav1.NodeUpgradeOption) { option.AllowQuorumLoss = true })
		person.Warnings = nil
		Expect(w.ask(ctx, "v2")).To(Succeed())
		Expect(person.Warnings).To(HaveExactElements(loses + "(about 3 minutes, as in its last upgrade): etcd has no majority without it, " +
			"which allowQuorumLoss permits [ControlPlaneQuorum]"))
	})
})
