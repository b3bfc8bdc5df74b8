// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"reflect"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Follow calls a function with the objects of a list, as added, and then with all their changes until the calling node
// is cleaned up. The function may return true to stop.
func Follow(ctx context.Context, kube client.WithWatch, list client.ObjectList, see func(watch.Event) (enough bool), options ...client.ListOption) {
	GinkgoHelper()
	Expect(kube.List(ctx, list, options...)).To(Succeed())
	enough := false
	Expect(meta.EachListItem(list, func(object runtime.Object) error {
		enough = enough || see(watch.Event{Type: watch.Added, Object: object})
		return nil
	})).To(Succeed())
	if !enough {
		changes(ctx, kube, list, see, options)
	}
}

// Changes is Follow without the existing objects. Once it returns, no change is missed.
func Changes(ctx context.Context, kube client.WithWatch, list client.ObjectList, see func(watch.Event) (enough bool), options ...client.ListOption) {
	GinkgoHelper()
	Expect(kube.List(ctx, list, options...)).To(Succeed())
	changes(ctx, kube, list, see, options)
}

// changes since a list. A watch that the server closes is resumed where it ended; one that cannot be fails the spec,
// which would otherwise wait in vain, or miss what must never happen.
func changes(ctx context.Context, kube client.WithWatch, since client.ObjectList, see func(watch.Event) bool, options []client.ListOption) {
	GinkgoHelper()
	// The context of a spec ends with its BeforeAll, but the watch must not.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, since.GetResourceVersion(), source{kube, since, options})
	Expect(err).NotTo(HaveOccurred())
	done := make(chan struct{})
	DeferCleanup(func() {
		stop()
		<-done
	})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		for event := range watcher.ResultChan() {
			Expect(event.Type).NotTo(Equal(watch.Error), "watching %T: %v", since, event.Object)
			if see(event) {
				return
			}
		}
		Expect(ctx.Err()).To(HaveOccurred(), "the watch of %T has ended by itself", since)
	}()
}

// source is what is watched.
type source struct {
	kube    client.WithWatch
	list    client.ObjectList
	options []client.ListOption
}

// WatchWithContext implements cache.WatcherWithContext.
func (s source) WatchWithContext(ctx context.Context, asked metav1.ListOptions) (watch.Interface, error) {
	of := reflect.New(reflect.TypeOf(s.list).Elem()).Interface().(client.ObjectList)
	options := (&client.ListOptions{}).ApplyOptions(s.options)
	options.Raw = &asked
	return s.kube.Watch(ctx, of, options)
}
