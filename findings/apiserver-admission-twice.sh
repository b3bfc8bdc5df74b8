#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  k8s.io/apiextensions-apiserver v0.36.3, k8s.io/apiserver v0.36.3, go.etcd.io/etcd/server/v3 v3.6.8
# Guess:     One request is one call of admission, with the object as it is stored, and one set of warnings.
# Behaviour: The API server first tries an update with the object of its watch cache. Where that is behind etcd, the update fails and
#            is tried again with the stored object: admission is called twice, with a state that is gone and with the present
#            one, and the client gets the warnings of both. Webhooks see such a request twice. A patch with a resourceVersion
#            is a conflict with the object of the cache before admission is called: it has the warnings of the present state
#            alone.
# Seen:      what expect compares below. Admission warns of the label that the stored object has. Events of the watch cache are held
#            back, as they are late on a busy machine; all else is the server's own.
# Source:    GuaranteedUpdate in pkg/storage/cacher/delegator.go and pkg/storage/etcd3/store.go of apiserver
#            (cachedExistingObject, origStateIsCurrent); pkg/warning does not repeat equal texts
# Here:      internal/webhooks/request/request_test.go asks with a resourceVersion where it asserts warnings.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib-apiserver.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

apiserver_module
go_run <<'GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/tools/cache"
)

// warner warns of the label of the object that is to be changed.
type warner struct{}

func (warner) Handles(operation admission.Operation) bool { return operation == admission.Update }

func (warner) Validate(ctx context.Context, of admission.Attributes, _ admission.ObjectInterfaces) error {
	if of.GetResource().Resource == "hosts" {
		old, err := meta.Accessor(of.GetOldObject())
		check(err)
		warning.AddWarning(ctx, "", fmt.Sprintf("the label is %q", old.GetLabels()["is"]))
	}
	return nil
}

// late is etcd whose events can be held back on their way to the watch cache.
type late struct{ storage.Interface }

var (
	held  atomic.Bool
	never = make(chan struct{})
)

func (l late) Watch(ctx context.Context, key string, of storage.ListOptions) (watch.Interface, error) {
	events, err := l.Interface.Watch(ctx, key, of)
	if err != nil {
		return nil, err
	}
	return watch.Filter(events, func(event watch.Event) (watch.Event, bool) {
		if held.Load() {
			<-never
		}
		return event, true
	}), nil
}

// behindLate are the server's own options, and its watch cache, for which etcd is late.
type behindLate struct{ generic.RESTOptionsGetter }

func (b behindLate) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := b.RESTOptionsGetter.GetRESTOptions(resource, example)
	options.Decorator = func(of *storagebackend.ConfigForResource, prefix string, key func(runtime.Object) (string, error), object, list func() runtime.Object,
		attributes storage.AttrFunc, indexers storage.IndexerFuncs, indexes *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		raw, destroy, err := generic.NewRawStorage(of, object, list, prefix)
		check(err)
		etcd := late{raw}
		caching, err := cacher.NewCacherFromConfig(cacher.Config{
			Storage: etcd, Versioner: storage.APIObjectVersioner{}, GroupResource: of.GroupResource, EventsHistoryWindow: of.EventsHistoryWindow,
			ResourcePrefix: prefix, KeyFunc: key, NewFunc: object, NewListFunc: list, GetAttrsFunc: attributes, IndexerFuncs: indexers, Indexers: indexes,
			Codec: of.Codec,
		})
		check(err)
		return cacher.NewCacheDelegator(caching, etcd), destroy, nil
	}
	return options, err
}

// label patches the label, with a resourceVersion unless that is empty, and returns the new one.
func label(value, version string) string {
	metadata := `"labels":{"is":"` + value + `"}`
	if version != "" {
		metadata += `,"resourceVersion":"` + version + `"`
	}
	code, object, warnings := call(http.MethodPatch, host, merge, `{"metadata":{`+metadata+`}}`)
	fmt.Printf("label %s, with a resourceVersion: %v: %d, %d warnings\n", value, version != "", code, len(warnings))
	for _, each := range warnings {
		fmt.Println(" ", each)
	}
	return object.GetResourceVersion()
}

// cached waits until the watch cache has a version: what is read at least of that version is read from the cache.
func cached(version string) {
	for deadline := time.Now().Add(time.Minute); ; {
		if code, _, _ := call(http.MethodGet, host+"?resourceVersion="+version, plain, ""); code == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			panic("the watch cache is too late")
		}
	}
}

func main() {
	serve(func(config *apiserver.Config) {
		config.GenericConfig.AdmissionControl = warner{}
		config.ExtraConfig.CRDRESTOptionsGetter = behindLate{config.ExtraConfig.CRDRESTOptionsGetter}
	})
	cached(label("one", ""))
	held.Store(true)
	label("two", "")
	version := label("three", "")
	label("four", version)
}
GO
expect <<'SEEN'
label one, with a resourceVersion: false: 200, 1 warnings
  299 - "the label is \"\""
label two, with a resourceVersion: false: 200, 1 warnings
  299 - "the label is \"one\""
label three, with a resourceVersion: false: 200, 2 warnings
  299 - "the label is \"one\""
  299 - "the label is \"two\""
label four, with a resourceVersion: true: 200, 1 warnings
  299 - "the label is \"three\""
SEEN
