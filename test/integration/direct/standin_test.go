// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// The provider of K3s control planes cannot be had: what it does here is to create a Machine with an ElementalMachine from a template.
// Its own rollouts begin by a change of its reference or its spec only, and neither is touched.
var _ = Describe("Machines of a K3s control plane, and one of nobody", Ordered, func() {
	const (
		template     = "standin"
		controlPlane = "cp-1"
		another      = "cp-2"
		alone        = "alone"
	)
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)
	BeforeAll(func(ctx SpecContext) {
		workload, err := theLab.StartWorkload(ctx, "edge")
		Expect(err).NotTo(HaveOccurred())
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "edge", Workload: workload, Workers: 1, Spare: 3})
		copyTemplate(ctx, cluster, template)
		for _, name := range []string{controlPlane, another} {
			createMachine(ctx, cluster, name, template, k3sControlPlane(ctx, cluster), copiedBootstrap(ctx, cluster, name))
		}
		createMachine(ctx, cluster, alone, template, nil, copiedBootstrap(ctx, cluster, alone))
		running := []string{}
		Eventually(func(g Gomega) {
			machines, err := cluster.Machines(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			running = running[:0]
			for i := range machines {
				if machines[i].Status.Phase == "Running" {
					running = append(running, machines[i].Name)
				}
			}
			g.Expect(running).To(ContainElements(controlPlane, another, alone))
		}, patience, look).Should(Succeed())
		Eventually(says, patience, look).WithContext(ctx).WithArguments(cluster, template, infrav1.RolledOutCondition).
			Should(Equal(said{"True", infrav1.RolledOutReason}))
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	It("are checked when the template is patched", func(ctx SpecContext) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: identityOf(ctx, cluster, alone).Node}}
		setUnschedulable := func(value string) {
			Expect(cluster.WorkloadKube().Patch(ctx, node, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"unschedulable":`+value+`}}`)))).To(Succeed())
		}
		try := func(ctx context.Context) error {
			_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalmachinetemplate", template, "--type", "merge", "--dry-run=server",
				"--patch", `{"spec":{"template":{"spec":{"osVersionManagement":{"osVersion":{"imageUri":"oci://registry.test/os:v2"}}}}}}`)
			return err
		}
		setUnschedulable("true")
		Eventually(try, patience, look).WithContext(ctx).Should(MatchError(ContainSubstring(
			"Node/" + node.Name + ": was cordoned by someone else and is left alone: kubectl uncordon it to let its upgrade start [NodeSchedulable]")))
		setUnschedulable("null")
		Eventually(try, patience, look).WithContext(ctx).Should(Succeed())
	})

	It("are upgraded one after the other, control planes first, when the template is patched", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchPool(ctx, template, wanted)).To(Succeed())
		_, err := cluster.AwaitMessage(ctx, wanted, "Preflight", "allowQuorumLoss")
		Expect(err).NotTo(HaveOccurred(), "two members of etcd have no majority without one")
		Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)).To(Succeed())
		Eventually(says, patience, look).WithContext(ctx).WithArguments(cluster, template, infrav1.RolledOutCondition).
			Should(Equal(said{"True", infrav1.RolledOutReason}))

		Expect(cluster.Identities(ctx)).To(Equal(before))
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		order := []string{}
		for i := range attempts {
			Expect(attempts[i].Spec.Driver).To(Equal(infrav1.DriverDirect))
			Expect(attempts[i].Status.Phase).To(Equal(infrav1.UpgradeSucceeded))
			order = append(order, attempts[i].Spec.MachineName)
		}
		Expect(order).To(Equal([]string{controlPlane, another, alone}))
		downtimes := audit.Cordons(suite.Audit(cluster.Workload()))
		Expect(audit.MaxOverlap(downtimes)).To(Equal(1), "one node at a time")
	})

	It("begin nothing when they merely differ from the template", func(ctx SpecContext) {
		differs := suite.Push(ctx, cluster, image.OS{})
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalmachine", alone, "--type", "merge",
			"--patch", `{"spec":{"osVersionManagement":{"osVersion":{"imageUri":"`+differs.URI()+`"}}}}`)
		Expect(err).NotTo(HaveOccurred())
		Eventually(says, patience, look).WithContext(ctx).WithArguments(cluster, template, infrav1.RolledOutCondition).
			Should(Equal(said{"False", infrav1.MachinesNotUpToDateReason}), "which is never hidden")
		Consistently(cluster.Attempts, calm, look).WithContext(ctx).Should(HaveLen(3))
	})
})

// copyTemplate makes a template of a name like that of the workers.
func copyTemplate(ctx context.Context, cluster *scenario.Cluster, name string) {
	GinkgoHelper()
	of := &infrav1.ElementalMachineTemplate{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.Template}, of)).To(Succeed())
	made := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: name}, Spec: *of.Spec.DeepCopy()}
	Expect(theLab.Kube.Create(ctx, made)).To(Succeed())
}

// k3sControlPlane is the owner of the Machines. The lab's own kind has the name of the Cluster.
func k3sControlPlane(ctx context.Context, cluster *scenario.Cluster) *metav1.OwnerReference {
	GinkgoHelper()
	of := &unstructured.Unstructured{}
	of.SetGroupVersionKind(schema.GroupVersionKind{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta1", Kind: "LabControlPlane"})
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}, of)).To(Succeed())
	return metav1.NewControllerRef(of, of.GroupVersionKind())
}

// createMachine makes a Machine with its ElementalMachine as providers of control planes do.
func createMachine(ctx context.Context, cluster *scenario.Cluster, name, template string, controller *metav1.OwnerReference, bootstrap clusterv1.Bootstrap) {
	GinkgoHelper()
	of := &infrav1.ElementalMachineTemplate{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: template}, of)).To(Succeed())
	labels := map[string]string{clusterv1.ClusterNameLabel: cluster.Options.Name}
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: name, Labels: labels}}
	if controller != nil {
		machine.OwnerReferences = []metav1.OwnerReference{*controller}
		machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	machine.Spec = clusterv1.MachineSpec{
		ClusterName: cluster.Options.Name, Version: scenario.KubernetesVersion, Bootstrap: bootstrap,
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachine", Name: name,
		},
	}
	elemental := &infrav1.ElementalMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace(), Name: name, Labels: machine.Labels,
			Annotations: map[string]string{
				clusterv1.TemplateClonedFromNameAnnotation:      template,
				clusterv1.TemplateClonedFromGroupKindAnnotation: infrav1.GroupVersion.WithKind(owner.ElementalMachineTemplateKind).GroupKind().String(),
			},
		},
		Spec: *of.Spec.Template.Spec.DeepCopy(),
	}
	Expect(theLab.Kube.Create(ctx, elemental)).To(Succeed())
	Expect(theLab.Kube.Create(ctx, machine)).To(Succeed())
}

// copiedBootstrap is the data of a worker, which its KubeadmConfig owns.
func copiedBootstrap(ctx context.Context, cluster *scenario.Cluster, name string) clusterv1.Bootstrap {
	GinkgoHelper()
	workers, err := cluster.PoolMachines(ctx, scenario.Deployment)
	Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{}
	of := ptr.Deref(workers[0].Spec.Bootstrap.DataSecretName, "")
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: of}, secret)).To(Succeed())
	made := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: name + "-bootstrap", Labels: secret.Labels}, Type: secret.Type, Data: secret.Data,
	}
	Expect(theLab.Kube.Create(ctx, made)).To(Succeed())
	return clusterv1.Bootstrap{DataSecretName: &made.Name}
}
