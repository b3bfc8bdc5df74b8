// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hoststate interprets an ElementalHost: whether it is free, whether it may be interrupted, and
// which OS it runs. It makes no API calls.
package hoststate
