// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predecessor_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

const (
	// formerStatus is a status as version 0.7 stored it: its conditions had a severity, and no reason where they were True.
	formerStatus = `{"status": {"ready": true, "conditions": [
		{"type": "Ready", "status": "True", "severity": "Info", "lastTransitionTime": "2024-09-26T13:00:21Z"},
		{"type": "AssociationReady", "status": "True", "severity": "Info", "lastTransitionTime": "2024-09-26T13:00:21Z"}]}}`
	// repeated is how a client of this version would write one of them again.
	repeated = `{"status": {"conditions": [
		{"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": "2024-09-26T13:00:21Z"}]}}`
)

var _ = DescribeTable("Conditions of version 0.7, which the API server does not accept any more, keep no controller from writing its own: on an",
	func(ctx SpecContext, plural string, object paused.ConditionSetter) {
		object.SetNamespace("default")
		object.SetName("former-conditions")
		Expect(server.Client.Create(ctx, object)).To(Succeed())
		write := func(status string, options ...client.SubResourcePatchOption) func() error {
			return func() error {
				target := object.DeepCopyObject().(client.Object)
				return server.Client.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, []byte(status)), options...)
			}
		}
		restore := permitAnyStatus(ctx, plural)
		Eventually(write(formerStatus)).Should(Succeed())
		restore(ctx)
		Eventually(write(repeated, client.DryRunAll)).Should(MatchError(ContainSubstring("reason")))

		Expect(server.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		_, written, err := paused.EnsurePausedCondition(ctx, server.Client, nil, object)
		Expect(err).NotTo(HaveOccurred())
		Expect(written).To(BeTrue())
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(gvkOf(object))
		Expect(server.Client.Get(ctx, client.ObjectKeyFromObject(object), stored)).To(Succeed())
		conditions, _, err := unstructured.NestedSlice(stored.Object, "status", "conditions")
		Expect(err).NotTo(HaveOccurred())
		Expect(conditions).To(ConsistOf(And(
			HaveKeyWithValue("type", clusterv1.PausedCondition), HaveKeyWithValue("status", string(metav1.ConditionFalse)))))
	},
	Entry("ElementalCluster", "elementalclusters", &infrav1.ElementalCluster{}),
	Entry("ElementalMachine", "elementalmachines", &infrav1.ElementalMachine{}),
	Entry("ElementalHost", "elementalhosts", &infrav1.ElementalHost{}),
	Entry("ElementalRegistration", "elementalregistrations", &infrav1.ElementalRegistration{}),
)

func gvkOf(object client.Object) schema.GroupVersionKind {
	GinkgoHelper()
	kind, err := server.Client.GroupVersionKindFor(object)
	Expect(err).NotTo(HaveOccurred())
	return kind
}

// permitAnyStatus makes a CRD accept any status, as long as it is not restored. The API server follows a moment later.
func permitAnyStatus(ctx context.Context, plural string) (restore func(context.Context)) {
	GinkgoHelper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	key := client.ObjectKey{Name: plural + "." + infrav1.GroupVersion.Group}
	set := func(ctx context.Context, versions []any) {
		GinkgoHelper()
		Expect(server.Client.Get(ctx, key, crd)).To(Succeed())
		Expect(unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")).To(Succeed())
		Expect(server.Client.Update(ctx, crd)).To(Succeed())
	}
	Expect(server.Client.Get(ctx, key, crd)).To(Succeed())
	strict, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	permissive, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	Expect(permissive).To(HaveLen(1))
	Expect(unstructured.SetNestedMap(permissive[0].(map[string]any), map[string]any{
		"type": "object", "x-kubernetes-preserve-unknown-fields": true,
	}, "schema", "openAPIV3Schema", "properties", "status")).To(Succeed())
	set(ctx, permissive)
	return func(ctx context.Context) {
		GinkgoHelper()
		set(ctx, strict)
	}
}
