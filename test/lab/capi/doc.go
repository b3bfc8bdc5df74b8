// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package capi runs Cluster API's managers, and ours, as processes against the lab's management cluster.
// It installs their CRDs and webhook configurations with each reference to a Service replaced by a
// loopback URL.
package capi
