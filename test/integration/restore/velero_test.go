// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"cmp"
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// kept is what Velero backs up of a namespace: Secrets, ConfigMaps, and the objects of Cluster API and its providers, in the order in which it
// restores them. Clusters come last.
// Source: Velero, defaultRestorePriorities.
func kept(ctx context.Context) []unstructured.Unstructured {
	GinkgoHelper()
	config, err := theLab.Management.RESTConfig("velero")
	Expect(err).NotTo(HaveOccurred())
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerPreferredNamespacedResources()
	Expect(err).NotTo(HaveOccurred())
	objects := []unstructured.Unstructured{}
	for _, resources := range lists {
		group, err := schema.ParseGroupVersion(resources.GroupVersion)
		Expect(err).NotTo(HaveOccurred())
		for _, resource := range resources.APIResources {
			core := group.Group == "" && slices.Contains([]string{"secrets", "configmaps"}, resource.Name)
			if !slices.Contains(resource.Verbs, "create") || !core && !strings.HasSuffix(group.Group, "cluster.x-k8s.io") {
				continue
			}
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(group.WithKind(resource.Kind + "List"))
			Expect(theLab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()))).To(Succeed())
			objects = append(objects, list.Items...)
		}
	}
	slices.SortStableFunc(objects, func(a, b unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(rank(a.GetKind()), rank(b.GetKind())), cmp.Compare(a.GetKind(), b.GetKind()))
	})
	return objects
}

func rank(kind string) int {
	switch kind {
	case "Secret":
		return 0
	case "ConfigMap":
		return 1
	case "Cluster":
		return 3
	}
	return 2
}

// restoredByVelero is an object as Velero creates it.
// Source: Velero, pkg/restore, resetMetadataAndStatus.
func restoredByVelero(object unstructured.Unstructured) *unstructured.Unstructured {
	restored := object.DeepCopy()
	for _, field := range []string{
		"generateName", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"ownerReferences", "managedFields",
	} {
		unstructured.RemoveNestedField(restored.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(restored.Object, "status")
	return restored
}

// setPaused pauses the Cluster, or lets it go on.
func setPaused(ctx context.Context, paused bool) {
	GinkgoHelper()
	found := &clusterv1.Cluster{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}, found)).To(Succeed())
	before := found.DeepCopy()
	found.Spec.Paused = &paused
	Expect(theLab.Kube.Patch(ctx, found, client.MergeFrom(before))).To(Succeed())
}

// resets counts the resets of hosts.
func resets() (count int) {
	GinkgoHelper()
	for _, host := range theLab.Hosts() {
		calls, err := host.Calls()
		Expect(err).NotTo(HaveOccurred())
		for _, call := range calls {
			if call.Is("elemental", "reset") {
				count++
			}
		}
	}
	return count
}

// withoutUID is what of a worker a restore keeps.
func withoutUID(of scenario.Identity) scenario.Identity {
	of.MachineUID = ""
	return of
}

var _ = It("A Cluster that Velero has restored in a new management cluster keeps its Machines and hosts, and is upgraded", func(ctx SpecContext) {
	before, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(before).To(HaveLen(1))
	host := theLab.Host(before[0].Node)
	boots, wiped := len(host.Boots()), resets()

	By("backing up the namespace of a Cluster that is paused")
	setPaused(ctx, true)
	namespace := &corev1.Namespace{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Name: cluster.Namespace()}, namespace)).To(Succeed())
	backup := kept(ctx)

	By("restoring it in a management cluster that has the providers alone")
	Expect(theLab.Restore(ctx, empty)).To(Succeed())
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace.Name, Labels: namespace.Labels}}
	Expect(theLab.Kube.Create(ctx, created)).To(Succeed())
	for i := range backup {
		Expect(client.IgnoreAlreadyExists(theLab.Kube.Create(ctx, restoredByVelero(backup[i])))).To(Succeed(), backup[i].GetKind()+" "+backup[i].GetName())
	}
	Expect(theLab.InitializeControlPlane(ctx, cluster.Namespace(), controlPlaneOf(backup))).To(Succeed(), "as its provider would")
	Eventually(reported).WithContext(ctx).Should(BeTrue(), "all hosts report their status again")

	By("letting Cluster API adopt what has lost its owners")
	setPaused(ctx, false)
	Eventually(orphans).WithContext(ctx).Should(BeEmpty())
	Eventually(func(ctx context.Context) ([]scenario.Identity, error) {
		found, err := cluster.Identities(ctx)
		for i := range found {
			found[i] = withoutUID(found[i])
		}
		return found, err
	}).WithContext(ctx).Should(ConsistOf(withoutUID(before[0])), "Node, provider ID and ElementalMachine are the same, and there is no other Machine")
	Expect(resets()).To(Equal(wiped), "no host is wiped")
	Expect(host.Boots()).To(HaveLen(boots), "the host is not rebooted")

	By("upgrading it")
	wanted := suite.Push(ctx, cluster, image.OS{})
	Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
	after, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	expectUpgraded(ctx, after[0], wanted)
	Expect(cluster.Identities(ctx)).To(ConsistOf(after[0]))
	Expect(resets()).To(Equal(wiped))
	Expect(host.Boots()).To(HaveLen(boots + 1))
})

func controlPlaneOf(backup []unstructured.Unstructured) string {
	GinkgoHelper()
	at := slices.IndexFunc(backup, func(object unstructured.Unstructured) bool { return object.GetKind() == "LabControlPlane" })
	Expect(at).NotTo(Equal(-1))
	return backup[at].GetName()
}

// reported tells whether all hosts have reported to the new management cluster.
func reported(ctx context.Context) (bool, error) {
	hosts, err := cluster.Hosts(ctx)
	unheard := slices.ContainsFunc(hosts, func(host infrav1.ElementalHost) bool { return host.Status.OS.BootID == "" })
	return len(hosts) > 0 && !unheard, err
}

// orphans are the Machines, ElementalMachines and MachineSets without a controller.
func orphans(ctx context.Context) (found []string, err error) {
	for _, list := range []client.ObjectList{&clusterv1.MachineList{}, &clusterv1.MachineSetList{}, &infrav1.ElementalMachineList{}} {
		if err := theLab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace())); err != nil {
			return nil, err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if object := item.(client.Object); metav1.GetControllerOf(object) == nil {
				found = append(found, object.GetName())
			}
		}
	}
	return found, nil
}
