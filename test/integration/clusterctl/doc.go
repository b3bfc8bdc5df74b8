// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterctl tests the assets of a release with the real clusterctl, on labs that clusterctl installed: init,
// generate, describe, alpha rollout, move between two management clusters, upgrade, also from version 0.7, and delete.
//
// clusterctl creates the same objects as in a real cluster. No Pods run for their Deployments: the lab starts the
// managers as processes, with the feature gates of their Deployments, points the webhooks to them, and resolves the
// Service of the ExtensionConfig. The controllers of cert-manager run, without its webhook; Cluster API calls the hooks
// with the certificates that they issue.
package clusterctl
