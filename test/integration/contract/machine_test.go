// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// worker is the Machine of the pool, its ElementalMachine and its ElementalHost.
func worker(ctx context.Context) (*clusterv1.Machine, *infrav1.ElementalMachine, *infrav1.ElementalHost) {
	GinkgoHelper()
	machines, err := cluster.PoolMachines(ctx, scenario.Deployment)
	Expect(err).NotTo(HaveOccurred())
	Expect(machines).To(HaveLen(workers))
	elemental, host := &infrav1.ElementalMachine{}, &infrav1.ElementalHost{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: machines[0].Spec.InfrastructureRef.Name}, elemental)).To(Succeed())
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: elemental.Spec.HostRef.Name}, host)).To(Succeed())
	return &machines[0], elemental, host
}

var _ = Describe("The contract of InfraMachine", func() {
	tried := rules{
		"InfraMachine, InfraMachineList resource definition":                 isDefined("ElementalMachine"),
		"InfraMachine: terminal failures":                                    noTerminalFailures("ElementalMachine"),
		"InfraMachineTemplate, InfraMachineTemplateList resource definition": isDefined("ElementalMachineTemplate"),
		"InfraMachine: provider ID": func(ctx SpecContext) {
			machine, elemental, _ := worker(ctx)
			nodes, err := cluster.Nodes(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(elemental.Spec.ProviderID).To(HavePrefix("elemental://"))
			Expect(machine.Spec.ProviderID).To(Equal(elemental.Spec.ProviderID))
			Expect(nodes).To(ContainElement(And(
				HaveField("Name", machine.Status.NodeRef.Name), HaveField("Spec.ProviderID", elemental.Spec.ProviderID))))
		},
		"InfraMachine: failure domain": triesFailureDomain,
		"InfraMachine: addresses": func(ctx SpecContext) {
			machine, elemental, host := worker(ctx)
			Expect(elemental.Status.Addresses).To(And(Not(BeEmpty()), Equal(host.Status.Addresses)))
			Expect([]clusterv1.MachineAddress(machine.Status.Addresses)).To(Equal(elemental.Status.Addresses))
		},
		"InfraMachine: initialization completed": func(ctx SpecContext) {
			machine, elemental, _ := worker(ctx)
			Expect(elemental.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
			Expect(machine.Status.Initialization.InfrastructureProvisioned).To(HaveValue(BeTrue()))
		},
		"InfraMachine: conditions": func(ctx SpecContext) {
			Eventually(func(g Gomega) { // an upgrade of before may have ended just now
				machine, elemental, _ := worker(ctx)
				g.Expect(conditions.IsTrue(elemental, clusterv1.ReadyCondition)).To(BeTrue())
				g.Expect(conditions.IsTrue(machine, clusterv1.InfrastructureReadyCondition)).To(BeTrue(), "it is mirrored")
			}).WithContext(ctx).Should(Succeed())
		},
		"InfraMachine: support for in-place changes": triesInPlaceChange,
		"InfraMachineTemplate: support for SSA dry run": func(ctx SpecContext) {
			// The manager may write its annotations between the two calls.
			change := func(annotations map[string]string) error {
				template := &infrav1.ElementalMachineTemplate{}
				if err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.Template}, template); err != nil {
					return err
				}
				template.Annotations = annotations
				template.Spec.Template.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "other"}}
				return theLab.Kube.Update(ctx, template, client.DryRunAll)
			}
			Eventually(change).WithArguments(map[string]string{clusterv1.TopologyDryRunAnnotation: ""}).Should(Succeed())
			Eventually(change).WithArguments(map[string]string{}).Should(MatchError(ContainSubstring("only osVersionManagement may be changed")))
		},
		"InfraMachine: pausing": func(ctx SpecContext) {
			triesPausing(ctx, func() conditions.Getter { _, elemental, _ := worker(ctx); return elemental })
		},
		// Not supported: the capacity of a bare-metal host is unknown before it is claimed. Users of the autoscaler
		// annotate the MachineDeployment with capacity.cluster-autoscaler.kubernetes.io.
		"InfraMachineTemplate: support cluster autoscaling from zero": func(ctx SpecContext) {
			Expect(status(ctx, "ElementalMachineTemplate")).To(And(Not(HaveKey("capacity")), Not(HaveKey("nodeInfo"))))
		},
	}
	maps.Copy(tried, common("ElementalMachine", "ElementalMachineTemplate"))
	tried.declare("infra-machine.md")
})

// triesPausing pauses the Cluster, and waits for the condition of an object.
func triesPausing(ctx context.Context, object func() conditions.Getter) {
	GinkgoHelper()
	pause := func(paused string) {
		GinkgoHelper()
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "cluster", cluster.Options.Name, "--type", "merge",
			"--patch", `{"spec":{"paused":`+paused+`}}`)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() bool { return conditions.IsTrue(object(), clusterv1.PausedCondition) }).Should(Equal(paused == "true"))
	}
	pause("true")
	pause("false")
}

// triesFailureDomain creates a Machine in a failure domain in which the first free host is not.
func triesFailureDomain(ctx SpecContext) {
	machine, elemental, _ := worker(ctx)
	Eventually(func() string { machine, elemental, _ = worker(ctx); return machine.Status.FailureDomain }).Should(Equal(zoneA))
	Expect(elemental.Status.FailureDomain).To(Equal(zoneA))

	md := &clusterv1.MachineDeployment{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.Deployment}, md)).To(Succeed())
	zoned := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: md.Namespace, Name: "zoned", Labels: md.Labels}}
	zoned.Spec = clusterv1.MachineDeploymentSpec{ClusterName: md.Spec.ClusterName, Replicas: ptr.To[int32](1), Template: *md.Spec.Template.DeepCopy()}
	zoned.Spec.Selector.MatchLabels = map[string]string{"pool": "zoned"}
	zoned.Spec.Template.Labels = map[string]string{"pool": "zoned"}
	zoned.Spec.Template.Spec.FailureDomain = zoneB
	Expect(theLab.Kube.Create(ctx, zoned)).To(Succeed())
	Eventually(func() ([]clusterv1.Machine, error) { return cluster.PoolMachines(ctx, "zoned") }).Should(HaveExactElements(And(
		HaveField("Status.FailureDomain", zoneB), HaveField("Status.NodeRef.Name", cluster.HostName(3)))))
	Expect(theLab.Kube.Delete(ctx, zoned)).To(Succeed())
	Eventually(func() ([]clusterv1.Machine, error) { return cluster.PoolMachines(ctx, "zoned") }).Should(BeEmpty())
}

// triesInPlaceChange changes the mutable field: nothing happens before the update extension is called.
func triesInPlaceChange(ctx SpecContext) {
	_, elemental, host := worker(ctx)
	boots := len(theLab.Host(host.Name).Boots())
	wanted := suite.Push(ctx, cluster, image.OS{})
	before := elemental.DeepCopy()
	elemental.Spec.OSVersionManagement = osversion.OfImage(wanted.URI())
	Expect(theLab.Kube.Patch(ctx, elemental, client.MergeFrom(before))).To(Succeed(), "the webhook lets a mutable field be changed")
	Eventually(func() string { _, e, _ := worker(ctx); return conditions.GetReason(e, infrav1.OSUpToDateCondition) }).
		Should(Equal(infrav1.TemplateDiffersReason))
	Consistently(func() int { return len(theLab.Host(host.Name).Boots()) }, calm).Should(Equal(boots))
	changed := elemental.DeepCopy()
	elemental.Spec.OSVersionManagement = before.Spec.OSVersionManagement
	Expect(theLab.Kube.Patch(ctx, elemental, client.MergeFrom(changed))).To(Succeed())
}
