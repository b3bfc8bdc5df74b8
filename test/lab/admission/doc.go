// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission lets a test intercept each write of a user just before an API server stores it, decide whether
// it is stored, and learn when it was. A test can so step through the effects of a process one write at a time,
// without a proxy.
package admission
