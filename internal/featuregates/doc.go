// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package featuregates reads from the Deployments of Cluster API's providers whether the feature gates are on that updates in place
// need.
package featuregates
