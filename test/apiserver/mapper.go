// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mapper caches which kinds do not exist, until others are installed. The mapper that it wraps asks the API server
// each time for those.
type mapper struct {
	meta.RESTMapper

	mutex sync.Mutex
	none  map[schema.GroupKind]error
}

// RESTMapping finds the resource of a kind.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.none[kind]; err != nil {
		return nil, err
	}
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if meta.IsNoMatchError(err) {
		if m.none == nil {
			m.none = map[schema.GroupKind]error{}
		}
		m.none[kind] = err
	}
	return mapping, err
}

// forget clears the cache of missing kinds.
func (m *mapper) forget() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.none = nil
}
