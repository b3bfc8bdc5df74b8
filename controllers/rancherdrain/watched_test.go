// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancherdrain_test

import (
	"context"
	"maps"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/rancherdrain"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// looking counts how often a template is read, which is once in each look at a machine that no attempt is underway on.
type looking struct {
	client.Reader
	looks atomic.Int32
}

func (l *looking) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, isTemplate := object.(*infrav1.ElementalMachineTemplate); isTemplate {
		defer l.looks.Add(1)
	}
	return l.Reader.Get(ctx, key, object, options...)
}

// run the controller in a manager, with a cache of the metadata of plan secrets as the product has it. It returns that cache, and what the controller
// reads live.
func (w *world) run() (cache.Cache, *looking) {
	GinkgoHelper()
	mgr := plane.NewManager(clusterview.AddIndexes)
	caching := rancher.CacheOptions(w.namespace)
	caching.Scheme, caching.Mapper, caching.HTTPClient = mgr.GetScheme(), mgr.GetRESTMapper(), mgr.GetHTTPClient()
	drains, err := cache.New(mgr.GetConfig(), caching)
	Expect(err).NotTo(HaveOccurred())
	Expect(rancher.AddIndex(ctx, drains)).To(Succeed())
	Expect(mgr.Add(drains)).To(Succeed())
	looks := &looking{Reader: mgr.GetAPIReader()}
	running := &rancherdrain.Reconciler{
		Client: mgr.GetClient(), Live: looks, Drains: drains, Recorder: mgr.GetEventRecorder("rancherdrain"),
	}
	Expect(running.SetupWithManager(ctx, mgr, apiserver.OnlyWoken())).To(Succeed())
	plane.Run(mgr)
	return drains, looks
}

var _ = Describe("In a manager", func() {
	var (
		w      *world
		before *corev1.Secret
	)
	BeforeEach(func() {
		w = newWorld()
		w.rancher(bothGiven) // left from an earlier drain
		before = apiserver.Get(ctx, c, w.secret).DeepCopy()
	})

	It("a drain is answered by what Rancher asks and how the attempt goes, and nothing else of the Secret is changed", func() {
		w.run()
		Eventually(w.answers).Should(BeEmpty(), "what is left is removed when the manager starts")
		attempt := w.rollOut()
		w.asks(rancher.PreDrainAnnotation)
		w.enter(attempt, attempts.StepHandOver)
		Eventually(w.answers).Should(Equal(onlyPre))
		w.asks(rancher.DrainDoneAnnotation, rancher.UncordonAnnotation, rancher.PostDrainAnnotation)
		w.end(attempt, infrav1.UpgradeRolledBack)
		Eventually(w.eventsAbout).Should(ConsistOf("Machine m", "Cluster c"))
		Expect(w.answers()).NotTo(HaveKey(post))
		apiserver.Change(ctx, c, attempt, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Cancel = true })
		Eventually(w.answers).Should(Equal(bothGiven))
		asked := maps.Clone(before.Annotations)
		for _, annotation := range append(all, rancher.DrainOptionsAnnotation) {
			asked[annotation] = token
		}
		maps.Copy(asked, bothGiven)
		Expect(w.secret.Annotations).To(Equal(asked))
		w.secret.Annotations = nil
		before.Annotations = nil
		Expect(othersPart(w.secret)).To(Equal(othersPart(before)))
	})

	It("a drain is answered when the machine is assigned what its template asks for", func() {
		w.rancher(answers{pre: "", post: ""})
		w.patch(imageB)
		w.asks(all...)
		_, looks := w.run()
		Eventually(looks.looks.Load).ShouldNot(BeZero())
		Expect(w.answers()).To(BeEmpty())
		w.assign(imageB, "")
		Eventually(w.answers).Should(Equal(bothGiven))
	})

	It("the metadata of the plan secrets of its namespace are cached, and nothing of any other Secret", func() {
		other := planSecret(plane.NewNamespace(ctx), "m")
		unlabelled := planSecret(w.namespace, "unlabelled")
		unlabelled.Labels = nil
		plane.Create(ctx, other, unlabelled)
		drains, _ := w.run()
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		Eventually(func() ([]metav1.PartialObjectMetadata, error) { err := drains.List(ctx, list); return list.Items, err }).Should(HaveLen(1))
		Expect(list.Items[0].Name).To(Equal(w.secret.Name))
		Expect(list.Items[0].ManagedFields).To(BeEmpty())
	})
})

// eventsAbout are the objects that RancherDrainHeld was emitted about.
func (w *world) eventsAbout() ([]string, error) {
	list := &eventsv1.EventList{}
	err := c.List(ctx, list, client.InNamespace(w.namespace))
	about := []string{}
	for _, event := range list.Items {
		if event.Reason == infrav1.EventRancherDrainHeld {
			about = append(about, event.Regarding.Kind+" "+event.Regarding.Name)
		}
	}
	return about, err
}
