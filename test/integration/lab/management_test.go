// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

const name = "lab"

// newControlPlane is the stand-in for an externally managed control plane.
func newControlPlane() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "LabControlPlane",
		"metadata": map[string]any{"namespace": name, "name": name},
	}}
}

func newCluster() *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name},
		Spec: clusterv1.ClusterSpec{
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: theLab.Workload.Host(), Port: int32(theLab.Workload.Port())},
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "controlplane.cluster.x-k8s.io", Kind: "LabControlPlane", Name: name,
			},
		},
	}
}

var _ = Describe("The management cluster", func() {
	It("makes Cluster API treat the workload cluster as an initialized control plane, and connect to it", func(ctx SpecContext) {
		Expect(theLab.CreateNamespace(ctx, name)).To(Succeed())
		Expect(theLab.ConnectWorkload(ctx, name, name)).To(Succeed())
		Expect(theLab.Kube.Create(ctx, newControlPlane())).To(Succeed())
		cluster := newCluster()
		Expect(theLab.Kube.Create(ctx, cluster)).To(Succeed())
		read := func(g Gomega) *clusterv1.Cluster {
			g.Expect(theLab.Kube.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
			return cluster
		}
		Eventually(func(g Gomega) {
			g.Expect(conditions.GetReason(read(g), clusterv1.ClusterControlPlaneInitializedCondition)).
				To(Equal(clusterv1.ClusterControlPlaneNotInitializedReason))
		}).Should(Succeed(), "Cluster API waits for the control plane")

		Expect(theLab.InitializeControlPlane(ctx, name, name)).To(Succeed())
		Eventually(func(g Gomega) {
			read(g)
			g.Expect(ptr.Deref(cluster.Status.Initialization.ControlPlaneInitialized, false)).To(BeTrue())
			g.Expect(conditions.IsTrue(cluster, clusterv1.ClusterRemoteConnectionProbeCondition)).To(BeTrue())
		}).Should(Succeed())

		By("garbage-collecting what the Cluster owned when it is deleted")
		Expect(theLab.Kube.Delete(ctx, cluster)).To(Succeed())
		Eventually(func() error {
			return theLab.Kube.Get(ctx, client.ObjectKeyFromObject(cluster), newControlPlane())
		}).Should(MatchError(ContainSubstring("not found")))
	}, SpecTimeout(patience))

	It("announces the feature gates that Cluster API's managers actually run with", func(ctx SpecContext) {
		isGates := func(arg string) bool { return strings.HasPrefix(arg, "--feature-gates=") }
		for key, manager := range map[client.ObjectKey]*capi.Provider{
			{Namespace: "capi-system", Name: "capi-controller-manager"}:                                             theLab.Core,
			{Namespace: "capi-kubeadm-control-plane-system", Name: "capi-kubeadm-control-plane-controller-manager"}: theLab.ControlPlane,
		} {
			deployment := &appsv1.Deployment{}
			Expect(theLab.Kube.Get(ctx, key, deployment)).To(Succeed())
			gates := manager.Args[slices.IndexFunc(manager.Args, isGates)]
			Expect(deployment.Spec.Template.Spec.Containers[0].Args).To(ContainElement(gates))
			Expect(gates).To(ContainSubstring("InPlaceUpdates=true"))
		}
	})
})

var _ = Describe("A lab without its tools", func() {
	It("does not start, and reports what to run", func(ctx SpecContext) {
		_, err := lab.Start(ctx, lab.Options{Root: GinkgoT().TempDir()})
		Expect(err).To(MatchError(ContainSubstring("make tools")))
	})
})
