// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterkubevirt_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	upgrade   = "whole"
	namespace = "upgrade-gates"
	spec      = `  kubeVirt: {version: ` + kubevirt.NextVersion + `}
  gateServiceAccount: {namespace: upgrade-gates, name: gates}
  gates:
  - name: storage
    object: {apiVersion: v1, kind: ConfigMap, namespace: upgrade-gates, name: storage}
    expression: self.data.health == 'HEALTH_OK'
`
)

var _ = Describe("One ElementalClusterUpgrade for KubeVirt and the OS", func() {
	var guests []vm.State
	BeforeEach(func(ctx SpecContext) {
		createGates(ctx)
		edit(ctx, func(of *kubevirtv1.KubeVirtSpec) {
			of.ImageTag = kubevirt.Version
			of.WorkloadUpdateStrategy.WorkloadUpdateMethods = []kubevirtv1.WorkloadUpdateMethod{kubevirtv1.WorkloadUpdateMethodLiveMigrate}
		})
		Expect(theLab.KubeVirt.AwaitDeployed(ctx, kubevirt.Version)).To(Succeed())
		for n := range 3 {
			guest, err := cluster.CreateVM(ctx, vm.Spec{Name: fmt.Sprintf("guest-%d", n), EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate})
			Expect(err).NotTo(HaveOccurred())
			guests = append(guests, guest)
		}
	})

	It("upgrades KubeVirt before the nodes, moves virtual machines with their nodes alone, and waits for a gate", func(ctx SpecContext) {
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.ApplyUpgrade(ctx, upgrade, wanted, spec)).To(Succeed())

		By("waiting for virt-operator, with the workload updates held")
		Eventually(status(ctx)).Should(And(HaveField("Stage", HavePrefix("KubeVirt (3/")),
			HaveField("Message", ContainSubstring("apply the manifests of virt-operator "+kubevirt.NextVersion))))
		Expect(kubeVirt(ctx)()).To(And(HaveField("Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods", BeEmpty()), HaveField("Spec.ImageTag", kubevirt.Version),
			HaveField("Annotations", HaveKey(infrav1.HeldWorkloadsAnnotation))))

		By("upgrading virt-operator, as a person does")
		Expect(theLab.KubeVirt.ApplyOperator(ctx, kubevirt.NextVersion)).To(Succeed())
		Eventually(kubeVirt(ctx), whole).Should(HaveField("Spec.ImageTag", kubevirt.NextVersion))
		Expect(begun(ctx, wanted)()).To(BeEmpty())
		Eventually(begun(ctx, wanted), whole).Should(HaveLen(1))
		Expect(kubeVirt(ctx)()).To(Satisfy(func(k *kubevirtv1.KubeVirt) bool { return kubevirt.IsDeployed(k, kubevirt.NextVersion) }), "KubeVirt is rolled out before the first node")

		By("closing the gate while the first node is in work")
		becomes(ctx, "HEALTH_WARN")
		Eventually(status(ctx), whole).Should(And(HaveField("Message", HavePrefix("gate storage is closed: ")), HaveField("NodesDone", HaveValue(BeEquivalentTo(1)))))
		Consistently(begun(ctx, wanted), calm, look).Should(HaveLen(1))
		becomes(ctx, "HEALTH_OK")

		By("upgrading the other nodes")
		Eventually(status(ctx), whole).Should(HaveField("Phase", infrav1.ClusterUpgradeSucceeded))
		Expect(begun(ctx, wanted)()).To(HaveLen(nodes), "each node once")
		Expect(audit.MaxOverlap(audit.Cordons(suite.Audit(cluster.Workload())))).To(Equal(1), "one node at a time")
		Expect(cluster.Identities(ctx)).To(Equal(before))
		Expect(audit.Deleted(suite.Audit(theLab.Management), "machines")).To(BeEmpty())

		By("looking at KubeVirt and the virtual machines")
		Expect(kubeVirt(ctx)()).To(And(HaveField("Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods", ConsistOf(kubevirtv1.WorkloadUpdateMethodLiveMigrate)),
			HaveField("Annotations", Not(HaveKey(infrav1.HeldWorkloadsAnnotation)))))
		expectMovedWithNodes(ctx, guests)
	})
})

// expectMovedWithNodes expects that the virtual machines run on launchers of the new version, and were migrated for no other reason than that their nodes
// were drained.
func expectMovedWithNodes(ctx context.Context, guests []vm.State) {
	GinkgoHelper()
	for n := range guests {
		instance := &kubevirtv1.VirtualMachineInstance{}
		key := client.ObjectKey{Namespace: vm.Namespace, Name: fmt.Sprintf("guest-%d", n)}
		Expect(theLab.WorkloadKube.Get(ctx, key, instance)).To(Succeed())
		Expect(instance).To(And(HaveField("UID", guests[n].UID), HaveField("Status.Phase", kubevirtv1.Running),
			HaveField("Status.LauncherContainerImageVersion", HaveSuffix(":"+kubevirt.NextVersion)),
			HaveField("Labels", Not(HaveKey(kubevirtv1.OutdatedLauncherImageLabel)))))
	}
	migrations := &kubevirtv1.VirtualMachineInstanceMigrationList{}
	Expect(theLab.WorkloadKube.List(ctx, migrations)).To(Succeed())
	Expect(migrations.Items).To(And(Not(BeEmpty()), HaveEach(HaveField("Name", HavePrefix("kubevirt-evacuation-")))))
	created := 0
	for _, event := range suite.Audit(cluster.Workload()) {
		if ref := event.ObjectRef; ref != nil && ref.Resource == "virtualmachineinstancemigrations" && ref.Subresource == "" && event.Verb == "create" && audit.Succeeded(event) {
			created++
		}
	}
	Expect(created).To(Equal(len(migrations.Items)), "the list has all of them")
}

func createGates(ctx context.Context) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "gates"}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	account.Annotations = map[string]string{infrav1.GatesAnnotation: infrav1.GatesAllowed}
	manager := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "manager"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"gates"}, Verbs: []string{"get", "impersonate"}},
	}}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, account, state(),
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "gates"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "gates"}},
		},
		manager,
		&rbacv1.RoleBinding{
			ObjectMeta: manager.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "manager"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:authenticated"}},
		},
	} {
		Expect(theLab.WorkloadKube.Create(ctx, object)).To(Succeed())
	}
	becomes(ctx, "HEALTH_OK")
}

func state() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "storage"}}
}

func becomes(ctx context.Context, health string) {
	GinkgoHelper()
	Expect(theLab.WorkloadKube.Patch(ctx, state(), client.RawPatch("application/merge-patch+json", []byte(`{"data":{"health":"`+health+`"}}`)))).To(Succeed())
}

func edit(ctx context.Context, change func(*kubevirtv1.KubeVirtSpec)) {
	GinkgoHelper()
	Eventually(func() error { return theLab.KubeVirt.Edit(ctx, change) }).Should(Succeed(), "the operator validates it")
}

func status(ctx context.Context) func() (infrav1.ElementalClusterUpgradeStatus, error) {
	return func() (infrav1.ElementalClusterUpgradeStatus, error) {
		found, err := cluster.Upgrade(ctx, upgrade)
		return found.Status, err
	}
}

func kubeVirt(ctx context.Context) func() (*kubevirtv1.KubeVirt, error) {
	return func() (*kubevirtv1.KubeVirt, error) { return theLab.KubeVirt.Look(ctx) }
}

// begun are the hosts whose attempts at an image have been past Admit.
func begun(ctx context.Context, wanted image.Image) func() ([]string, error) {
	return func() ([]string, error) {
		found, err := cluster.Attempts(ctx)
		hosts := []string{}
		for i := range found {
			if found[i].Spec.ImageURI == wanted.URI() && attempts.HasEntered(&found[i], attempts.StepCordon) {
				hosts = append(hosts, found[i].Spec.HostName)
			}
		}
		return hosts, err
	}
}
