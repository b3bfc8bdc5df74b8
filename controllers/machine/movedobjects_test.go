// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/hostupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	workloadcluster "github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// What is here plays "clusterctl move" with one API server, so that objects are removed before they are recreated.
// Source: clusterctl's object mover, createTargetObject and deleteSourceObject.

// take reads all that is moved, and removes it as from the source.
func (p *movedPool) take(ctx SpecContext) []client.Object {
	GinkgoHelper()
	moved := p.objects(ctx, &clusterv1.ClusterList{}, &infrav1.ElementalMachineTemplateList{}, &infrav1.ElementalRolloutList{}, &clusterv1.MachineDeploymentList{},
		&clusterv1.MachineSetList{}, &clusterv1.MachineList{}, &infrav1.ElementalHostList{}, &infrav1.ElementalHostUpgradeList{}, &infrav1.ElementalMachineList{})
	for _, object := range slices.Backward(moved) {
		leaving := copyOf(object)
		Expect(annotate(ctx, leaving, clusterctlv1.DeleteForMoveAnnotation)).To(Succeed())
		Expect(server.Client.Delete(ctx, leaving)).To(Succeed())
		withoutFinalizers := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":[]}}`))
		Expect(client.IgnoreNotFound(server.Client.Patch(ctx, leaving, withoutFinalizers))).To(Succeed())
	}
	for _, object := range moved {
		Eventually(gone(ctx, copyOf(object))).Should(BeTrue())
	}
	return moved
}

// objects are those of the pool, of the kinds of these lists.
func (p *movedPool) objects(ctx context.Context, lists ...client.ObjectList) []client.Object {
	GinkgoHelper()
	all := []client.Object{}
	for _, list := range lists {
		Expect(server.Client.List(ctx, list, client.InNamespace(p.ns))).To(Succeed())
		Expect(meta.EachListItem(list, func(item runtime.Object) error {
			all = append(all, item.(client.Object))
			return nil
		})).To(Succeed())
	}
	return all
}

func copyOf(object client.Object) client.Object {
	return object.DeepCopyObject().(client.Object)
}

// bring recreates the objects, which gives them other UIDs and no status: owners before what they own, and the Cluster, which
// is paused, before all.
func (p *movedPool) bring(ctx SpecContext, moved []client.Object, random *rand.Rand) {
	GinkgoHelper()
	random.Shuffle(len(moved), func(i, j int) { moved[i], moved[j] = moved[j], moved[i] })
	slices.SortStableFunc(moved, func(a, b client.Object) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	uids := map[types.UID]types.UID{}
	for _, object := range moved {
		made := copyOf(object)
		made.SetResourceVersion("")
		owners := made.GetOwnerReferences()
		for i := range owners {
			owners[i].UID = uids[owners[i].UID]
			Expect(owners[i].UID).NotTo(BeEmpty())
		}
		made.SetOwnerReferences(owners)
		Expect(server.Client.Create(ctx, made)).To(Succeed())
		Expect(made.GetUID()).NotTo(Equal(object.GetUID()))
		uids[object.GetUID()] = made.GetUID()
	}
}

// rankOf an object that is moved. The older attempts on all hosts are made last, so that the time of their creation here tells
// the wrong order.
func rankOf(object client.Object) int {
	switch kind := object.(type) {
	case *clusterv1.Cluster:
		return 0
	case *clusterv1.MachineSet:
		return 2
	case *clusterv1.Machine:
		return 3
	case *infrav1.ElementalMachine:
		return 4
	case *infrav1.ElementalHostUpgrade:
		if kind.Annotations[infrav1.EndedAnnotation] == string(infrav1.UpgradeSucceeded) {
			return 4
		}
		return 5
	}
	return 1
}

// nodesHere are the Nodes of the workload cluster, and wantsV1 what its owner wants.
type nodesHere struct{}

func (nodesHere) Connect(context.Context, client.ObjectKey) (*workloadcluster.Cluster, error) {
	return workloadcluster.New(server.Client, server.Client), nil
}

type wantsV1 struct{}

// NotOptedIn takes all namespaces to have opted in.
func (wantsV1) NotOptedIn(context.Context, string) (string, error) { return "", nil }

func (wantsV1) Wanted(context.Context, client.Reader, *clusterv1.Machine) (*hostupgrade.WantedOS, string, error) {
	return &hostupgrade.WantedOS{TemplateName: "t1", OSVersionHash: osversion.Hash(osversion.OfImage("oci://os:v1"))}, "", nil
}

// lookAtAttempts lets the controller of attempts look at those of some machines, which the manager of the suite does without,
// until it has nothing left to write.
func (p *movedPool) lookAtAttempts(ctx SpecContext, random *rand.Rand, of func(machine int) bool) {
	GinkgoHelper()
	controller := &hostupgrade.Reconciler{
		Client: apiserver.NewIndexed(server.Client, clusterview.AddIndexes), APIReader: server.Client, Workload: nodesHere{}, Owners: wantsV1{}, Namespaces: wantsV1{},
		Recorder: events.NewFakeRecorder(10 * movedHosts), Clock: clock,
	}
	all := p.attempts(ctx)
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, attempt := range all {
		if !of(slices.IndexFunc(p.machines, func(m *infrav1.ElementalMachine) bool { return m.Name == attempt.Spec.ElementalMachineName })) {
			continue
		}
		for before := ""; before != attempt.ResourceVersion; {
			before = attempt.ResourceVersion
			_, err := controller.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(attempt)})
			Expect(err).NotTo(HaveOccurred())
			Expect(server.Client.Get(ctx, client.ObjectKeyFromObject(attempt), attempt)).To(Succeed())
		}
	}
}
