// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterctl tries the assets of a release with the real clusterctl, on labs that clusterctl installed: init,
// generate, describe, alpha rollout, move between two management clusters, upgrade, and delete.
//
// clusterctl creates the same objects as anywhere. Nothing runs their Deployments: the lab starts the managers as processes,
// with the feature gates of their Deployments, points webhooks to them, and leads to the Service of the ExtensionConfig.
// The controllers of cert-manager run, without its webhook; what they issue for the hooks is what Cluster API calls these by.
package clusterctl
