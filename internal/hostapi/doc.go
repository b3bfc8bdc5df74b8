// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostapi is the Elemental API: the HTTPS server through which hosts register, read their desired state and report their status. Its
// routes and JSON are those of internal/wire; openapi.yaml in this directory describes them for other clients.
//
// It is built for tens of thousands of hosts per manager. An idle host costs one pending request and an entry in a map: it is woken by the
// informer that the controllers share, and causes no list, no write, no read of a Secret and no reconcile. A report is written only if it
// contains something new. Registration is one create.
//
// It runs on every replica, without leader election. It writes only new hosts, and the status of hosts without their conditions, and only
// for the host that sent the request.
//
// The key of a deleted ElementalHost is denied by its registration (package deniedkey): it only permits the requests that a host needs to
// reset itself.
//
// Trust: every request is authenticated by its token (package token). A request with an invalid token is refused before anything is read
// from the API server for it, and before its body is read.
package hostapi

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts,verbs=get;list;watch;create;delete;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalregistrations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachines,verbs=get
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
