// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire defines the JSON that the Elemental API and the agents exchange. Both sides import it. It must not
// import Kubernetes packages, because the agent must not.
//
// Paths are relative to the registration URI,
// https://<endpoint>/elemental/v1/namespaces/<namespace>/registrations/<registration>:
//
//	GET    .                      registration token         -> Registration
//	POST   hosts                  registration + host token  HostCreate -> 201 (also when repeated), 409
//	GET    hosts/<host>/desired   host token                 ?revision=R&wait=300s -> Desired (long poll)
//	POST   hosts/<host>/report    host token                 Report -> 204
//	GET    hosts/<host>/bootstrap host token                 -> Bootstrap, 404 while there is none
//	GET    hosts/<host>/reset     host token                 -> Reset
//	GET    hosts/<host>/authorities host token              -> Authorities, 404 if the API does not publish authorities
//	DELETE hosts/<host>           host token                 202: the host resets itself now
//	POST   hosts/<host>/wiped     host token                 204: the host has been wiped, and its ElementalHost is removed
package wire
