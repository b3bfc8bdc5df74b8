// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// token of Rancher's drain, and that of one that evicts nothing.
const (
	evicting    = `{"enabled":true,` + bothHooks + `}`
	notEvicting = `{"enabled":false,` + bothHooks + `}`
	bothHooks   = `"preDrainHooks":[{"annotation":"` + infrav1.RancherPreDrainAnnotation + `"}],"postDrainHooks":[{"annotation":"` + infrav1.RancherPostDrainAnnotation + `"}]`
)

// plans reads plan secrets from the API server as the cache of their metadata does.
type plans struct {
	cache.Cache
	stored client.Reader
}

func (p plans) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return p.stored.List(ctx, list, options...)
}

// cachedPlan is a cache that has one plan secret, as it was.
type cachedPlan struct {
	cache.Cache
	of *corev1.Secret
}

func (p cachedPlan) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*metav1.PartialObjectMetadataList).Items = []metav1.PartialObjectMetadata{{ObjectMeta: p.of.ObjectMeta}}
	return nil
}

// rancherWorld is a world whose Node Rancher has begun to drain, and has cordoned.
type rancherWorld struct {
	*world
	token string
}

func newRancherWorld(ctx context.Context, token string) *rancherWorld {
	GinkgoHelper()
	w := &rancherWorld{world: newWorld(ctx, infrav1.NodeUpgradeOption{}), token: token}
	former := get(ctx, w.world, w.upgrade, &infrav1.ElementalHostUpgrade{})
	Expect(live.Delete(ctx, former)).To(Succeed())
	spec := former.Spec
	spec.Driver = infrav1.DriverRancherDrain
	Expect(live.Create(ctx, &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta(w.upgrade), Spec: spec})).To(Succeed())
	Expect(live.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "plan", Labels: map[string]string{rancher.MachineNameLabel: w.host}},
		Type:       "rke.cattle.io/machine-plan",
	})).To(Succeed())
	w.joinAgain(ctx)
	w.reconciler.Drains = plans{stored: apiserver.NewIndexed(server.Client, rancher.AddIndex)}
	w.asks(ctx, rancher.DrainOptionsAnnotation, rancher.PreDrainAnnotation)
	return w
}

// joinAgain makes the Node as a kubelet does, with a label: the API server records no managers of what was created without any field.
func (w *rancherWorld) joinAgain(ctx context.Context) {
	GinkgoHelper()
	Expect(live.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.host}})).To(Succeed())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.host, Labels: map[string]string{corev1.LabelHostname: w.host}}}
	Expect(live.Create(ctx, node)).To(Succeed())
	setNode(ctx, w.host, "boot-1", corev1.ConditionTrue, began)
}

// says sets annotations of the plan secret, as Rancher does.
func (w *rancherWorld) says(ctx context.Context, edit func(annotations map[string]string)) {
	GinkgoHelper()
	change(ctx, w.world, "plan", &corev1.Secret{}, func(plan *corev1.Secret) {
		if plan.Annotations == nil {
			plan.Annotations = map[string]string{}
		}
		edit(plan.Annotations)
	})
}

// asks sets annotations to the token.
func (w *rancherWorld) asks(ctx context.Context, annotations ...string) {
	GinkgoHelper()
	w.says(ctx, func(all map[string]string) {
		for _, annotation := range annotations {
			all[annotation] = w.token
		}
	})
}

// cordons the Node, or uncordons it, as a field manager.
func (w *rancherWorld) cordons(ctx context.Context, manager string, unschedulable string) {
	GinkgoHelper()
	patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"unschedulable":`+unschedulable+`}}`))
	Expect(live.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.host}}, patch, client.FieldOwner(manager))).To(Succeed())
}

// handsBack has drained the Node and upgraded Kubernetes on it.
func (w *rancherWorld) handsBack(ctx context.Context) {
	GinkgoHelper()
	w.asks(ctx, rancher.DrainDoneAnnotation, rancher.UncordonAnnotation, rancher.PostDrainAnnotation)
}

// ends the drain: the Node is uncordoned and nothing is asked any more.
func (w *rancherWorld) ends(ctx context.Context) {
	GinkgoHelper()
	w.cordons(ctx, rancher.FieldManager, "null")
	w.says(ctx, func(all map[string]string) { clear(all) })
}

func (w *rancherWorld) node(ctx context.Context) *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(live.Get(ctx, client.ObjectKey{Name: w.host}, node)).To(Succeed())
	return node
}
