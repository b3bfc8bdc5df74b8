// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outlook looks ahead at an upgrade that has been requested and has not begun: which nodes it would take, in
// which order, and what stands against it. It answers for those who start rollouts or hold them back: the admission of a
// changed template, its controller, and Cluster API's lifecycle hooks. It writes nothing.
package outlook
