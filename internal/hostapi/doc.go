// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostapi is the Elemental API: the HTTPS server through which hosts register, learn what is
// asked of them and report what they are. Its routes and JSON are those of internal/wire, described
// for others in openapi.yaml beside this file.
//
// It is built for tens of thousands of hosts to a manager. An idle host is one held request, a row in
// a map and nothing else: the informer that the controllers share anyway wakes it, and there is no list,
// no write, no read of a Secret and no reconcile on its behalf. A report becomes a write only when it
// says something new. Registration is one create.
//
// It answers on every replica; nothing here needs a leader. What is written - new hosts, and the status
// of hosts but for its conditions - is written on behalf of the host that asked, and of no other.
//
// The key of an ElementalHost that was deleted is denied by its registration (package deniedkey): it opens nothing but what a
// host needs that has still to reset itself.
//
// Trust: a request is believed when its token is (package token). What a token cannot open is refused
// before anything is read from the API server on its behalf, and before its body is read.
package hostapi

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts,verbs=get;list;watch;create;delete;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalregistrations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachines,verbs=get
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
