// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const gated = `  gateServiceAccount: {namespace: upgrade-gates, name: gates}
  gates:
  - name: storage
    object: {apiVersion: v1, kind: ConfigMap, namespace: upgrade-gates, name: storage}
    expression: self.data.health == 'HEALTH_OK'
  - {name: smoke, job: {image: registry.test/smoke:v1, timeoutSeconds: 120}}
`

var _ = Describe("A gate of an ElementalClusterUpgrade", func() {
	state := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "upgrade-gates", Name: "storage"}}
	}
	// becomes changes the health of the workload cluster's storage.
	becomes := func(ctx context.Context, health string) {
		GinkgoHelper()
		Expect(theLab.WorkloadKube.Patch(ctx, state(), client.RawPatch("application/merge-patch+json", []byte(`{"data":{"health":"`+health+`"}}`)))).To(Succeed())
	}

	BeforeEach(func(ctx SpecContext) {
		meta := metav1.ObjectMeta{Namespace: "upgrade-gates", Name: "gates"}
		account := &corev1.ServiceAccount{ObjectMeta: meta}
		account.Annotations = map[string]string{infrav1.GatesAnnotation: infrav1.GatesAllowed}
		for _, object := range []client.Object{
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "upgrade-gates"}}, account, state(),
			&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
				{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "create", "delete"}},
			}},
			&rbacv1.RoleBinding{
				ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "gates"},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "upgrade-gates", Name: "gates"}},
			},
		} {
			Expect(theLab.WorkloadKube.Create(ctx, object)).To(Succeed())
		}
		becomes(ctx, "HEALTH_OK")
	})

	It("that closes in the middle holds the next node, and lets it go when it opens", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(apply(ctx, "gated", wanted, gated)).To(Succeed())

		By("closing it while the first node is in work")
		Eventually(begun, patience, look).WithContext(ctx).WithArguments(wanted).Should(HaveLen(1))
		becomes(ctx, "HEALTH_WARN")
		Eventually(status, patience, look).WithContext(ctx).WithArguments("gated").Should(And(
			HaveField("Phase", infrav1.ClusterUpgradeProgressing), HaveField("NodesDone", HaveValue(BeEquivalentTo(1))),
			HaveField("Message", "gate storage is closed: the expression is false of ConfigMap upgrade-gates/storage. "+
				"Mend that, or change the gate in spec.gates of the ElementalClusterUpgrade"),
			HaveField("Gates", ContainElement(And(HaveField("Name", "storage"), HaveField("Open", BeFalse()))))))
		Consistently(begun, calm, look).WithContext(ctx).WithArguments(wanted).Should(HaveLen(1), "no other node begins")
		_, err := cluster.AwaitMessage(ctx, wanted, "Admit", "waiting for ElementalClusterUpgrade gated: gate storage is closed: ")
		Expect(err).NotTo(HaveOccurred())

		By("opening it")
		becomes(ctx, "HEALTH_OK")
		Eventually(phase, whole, look).WithContext(ctx).WithArguments("gated").Should(Equal(infrav1.ClusterUpgradeSucceeded))
		awaitAll(ctx, wanted)
		Expect(begun(ctx, wanted)).To(HaveLen(all), "each node once")
		jobs := sets.New[string]()
		for _, event := range suite.Audit(cluster.Workload()) {
			if event.ObjectRef.Resource == "jobs" && event.Verb == "create" && audit.Succeeded(event) {
				jobs.Insert(event.ObjectRef.Name)
				Expect(event.ImpersonatedUser).To(HaveField("Username", "system:serviceaccount:upgrade-gates:gates"))
			}
		}
		Expect(len(jobs)).To(BeNumerically(">", all), "a Job before each node, and before the end")
	})
})
