// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Memory serves reads from what was read or written through its Client before. Its answers are those of the API server,
// as long as no other client writes; all writes go to the API server. It is for suites that make thousands of reads of
// a few objects.
type Memory struct {
	// Client reads and writes.
	Client client.WithWatch

	scheme *runtime.Scheme
	mapper *mapper
	mutex  sync.Mutex
	// suspended disables the cache.
	suspended bool
	seen      map[schema.GroupKind]map[query]runtime.Object
}

// definition is the kind of CRDs.
var definition = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// query is a read. Objects of one kind can be read as several types.
type query struct {
	into reflect.Type
	key  client.ObjectKey
	// list reports whether it is a list, and selection what it selects.
	list      bool
	selection string
}

// NewMemory returns a Memory of a Server.
func (s *Server) NewMemory() (*Memory, error) {
	httpClient, err := rest.HTTPClientFor(s.Config)
	if err != nil {
		return nil, fmt.Errorf("making an HTTP client: %w", err)
	}
	dynamic, err := apiutil.NewDynamicRESTMapper(s.Config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making a mapper of kinds: %w", err)
	}
	m := &Memory{scheme: s.Scheme, mapper: &mapper{RESTMapper: dynamic}, seen: map[schema.GroupKind]map[query]runtime.Object{}}
	direct, err := client.NewWithWatch(s.Config, client.Options{Scheme: s.Scheme, HTTPClient: httpClient, Mapper: m.mapper})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	m.Client = interceptor.NewClient(direct, m.calls())
	return m, nil
}

// Suspend disables the cache until the returned function is called, for specs in which other clients write.
func (m *Memory) Suspend() (resume func()) {
	m.suspend(true)
	return func() { m.suspend(false) }
}

func (m *Memory) suspend(suspended bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.suspended = suspended
	clear(m.seen)
}

// read answers a query from the cache, or from the API server.
func (m *Memory) read(into runtime.Object, q query, ask func() error) error {
	kind, err := m.kindOf(into)
	if err != nil {
		return err
	}
	q.into = reflect.TypeOf(into)
	if known := m.known(kind, q); known != nil {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(known).Elem())
		return nil
	}
	if err := ask(); err != nil {
		return err
	}
	m.learn(kind, q, into)
	return nil
}

// write invalidates the object that is written, and all lists of its kind, and caches the API server's response. With
// options, such as a dry run, the response may not be what is stored.
func (m *Memory) write(object client.Object, options int, do func() error) error {
	kind, err := m.kindOf(object)
	if err != nil {
		return err
	}
	err = do()
	m.forget(kind, client.ObjectKeyFromObject(object))
	// A deleted object may be removed with its last finalizer.
	if err == nil && options == 0 && object.GetDeletionTimestamp().IsZero() {
		m.learn(kind, query{into: reflect.TypeOf(object), key: client.ObjectKeyFromObject(object)}, object)
	}
	return err
}

func (m *Memory) known(kind schema.GroupKind, q query) runtime.Object {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if known := m.seen[kind][q]; known != nil {
		return known.DeepCopyObject()
	}
	return nil
}

// learn caches the answer to a query. CRDs are not cached, because the API server itself writes them, and a read
// of one invalidates everything.
func (m *Memory) learn(kind schema.GroupKind, q query, object runtime.Object) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	switch {
	case m.suspended:
		return
	case kind == definition:
		clear(m.seen)
		m.mapper.forget()
		return
	case m.seen[kind] == nil:
		m.seen[kind] = map[query]runtime.Object{}
	}
	m.seen[kind][q] = object.DeepCopyObject()
}

// forget invalidates an object, and all lists of its kind.
func (m *Memory) forget(kind schema.GroupKind, key client.ObjectKey) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for q := range m.seen[kind] {
		if q.list || q.key == key {
			delete(m.seen[kind], q)
		}
	}
}

// remove invalidates all objects of a kind, some of which are deleted.
func (m *Memory) remove(object client.Object, do func() error) error {
	kind, err := m.kindOf(object)
	if err != nil {
		return err
	}
	err = do()
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.seen, kind)
	if kind == definition {
		clear(m.seen)
		m.mapper.forget()
	}
	return err
}

func (m *Memory) kindOf(object runtime.Object) (schema.GroupKind, error) {
	kind, err := apiutil.GVKForObject(object, m.scheme)
	if err != nil {
		return schema.GroupKind{}, fmt.Errorf("finding the kind of %T: %w", object, err)
	}
	if _, isList := object.(client.ObjectList); isList {
		kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	}
	return kind.GroupKind(), nil
}

// selection is what a list selects.
func selection(options []client.ListOption) string {
	all := &client.ListOptions{}
	all.ApplyOptions(options)
	parts := []string{all.Namespace, fmt.Sprint(all.Limit), all.Continue}
	if all.LabelSelector != nil {
		parts = append(parts, "labels "+all.LabelSelector.String())
	}
	if all.FieldSelector != nil {
		parts = append(parts, "fields "+all.FieldSelector.String())
	}
	return strings.Join(parts, ";")
}

func (m *Memory) forgetAll() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	clear(m.seen)
}
