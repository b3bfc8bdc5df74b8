// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// rolling makes a MachineDeployment that goes from template t1 to t2, os:v1 to os:v2, and its MachineSet.
func (w *world) rolling(ctx SpecContext) *clusterv1.MachineSet {
	GinkgoHelper()
	md := ownertest.MachineDeployment(w.ns, "workers", "c1", "t2", 2)
	for _, object := range []client.Object{
		ownertest.Template(w.ns, "t1", "oci://os:v1"), ownertest.Template(w.ns, "t2", "oci://os:v2"), md,
	} {
		Expect(server.Client.Create(ctx, object)).To(Succeed())
	}
	set := ownertest.MachineSet(md, "workers-1", "t1", 2)
	Expect(server.Client.Create(ctx, set)).To(Succeed())
	return set
}

// ownedBy gives a Machine to a MachineSet.
func (w *world) ownedBy(ctx SpecContext, set *clusterv1.MachineSet, name string) {
	GinkgoHelper()
	made := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
	apiserver.Change(ctx, server.Client, made, func() {
		made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, clusterv1.GroupVersion.WithKind("MachineSet"))}
	})
}

// inPool makes a machine one of the MachineDeployment, still of the former template.
func inPool(m *infrav1.ElementalMachine) {
	m.Labels[clusterv1.MachineDeploymentNameLabel] = "workers"
	madeFrom("t1")(m)
}

var _ = Describe("A machine whose turn is held up by a paused node", func() {
	It("names the node, and what to do, as long as no other of its pool is under way", func(ctx SpecContext) {
		w := newWorld(ctx)
		set := w.rolling(ctx)
		waiting, _ := w.running(ctx, "m1", inPool)
		other, _ := w.running(ctx, "m2", func(m *infrav1.ElementalMachine) { madeFrom("t1")(m) })
		for _, name := range []string{"m1", "m2"} {
			w.ownedBy(ctx, set, name)
		}
		w.machine(ctx, "m3", inPool)
		w.machine(ctx, "m4", inPool)
		attempt := func(name, machine, node, step string) *infrav1.ElementalHostUpgrade {
			upgrade := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
			upgrade.Spec = infrav1.ElementalHostUpgradeSpec{
				ClusterName: "c1", MachineName: machine, ElementalMachineName: machine, HostName: machine,
				ImageURI: "oci://os:v2", OSVersionManagement: osversion.OfImage("oci://os:v2"),
			}
			Expect(server.Client.Create(ctx, upgrade)).To(Succeed())
			apiserver.ChangeStatus(ctx, server.Client, upgrade, func() {
				upgrade.Status.Phase, upgrade.Status.NodeName, upgrade.Status.Step = infrav1.UpgradeProgressing, node, step
			})
			return upgrade
		}
		end := func(upgrade *infrav1.ElementalHostUpgrade) {
			apiserver.ChangeStatus(ctx, server.Client, upgrade, func() { upgrade.Status.Phase, upgrade.Status.Step = infrav1.UpgradeSucceeded, "" })
		}
		Eventually(server.Stored(ctx, waiting)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionTrue, clusterv1.ReadyReason))

		paused := attempt("u3", "m3", "node-3", "Approve")
		Eventually(server.Stored(ctx, waiting)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.WaitingForNodeReason))
		now := apiserver.Get(ctx, server.Client, waiting)
		Expect(conditions.GetMessage(now, infrav1.OSUpToDateCondition)).To(Equal("Waiting for its turn: Node node-3 is paused: " +
			"remove its annotation infrastructure.cluster.x-k8s.io/elemental-node-upgrade-pause, or set spec.approved of ElementalHostUpgrade u3. " +
			"To have the others upgraded meanwhile, set maxUnavailable 2 in spec.rollout.strategy.rollingUpdate of MachineDeployment workers"))
		Expect(now).To(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		Expect(server.Stored(ctx, other)()).To(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionTrue, clusterv1.ReadyReason))

		working := attempt("u4", "m4", "node-4", "Drain")
		Eventually(server.Stored(ctx, waiting)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		end(working)
		Eventually(server.Stored(ctx, waiting)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.WaitingForNodeReason))
		end(paused)
		Eventually(server.Stored(ctx, waiting)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
	})
})
