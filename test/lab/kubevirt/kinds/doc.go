// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds makes an API server serve KubeVirt's kinds without KubeVirt, for tests that write their objects
// themselves.
package kinds
