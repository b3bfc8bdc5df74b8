// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterctl tries the assets of a release with the real clusterctl, on labs that clusterctl installed: init,
// generate, describe, alpha rollout, and move between two management clusters.
//
// clusterctl creates the same objects as anywhere. Nothing runs their Deployments: the lab starts the managers as processes
// and points webhooks and the ExtensionConfig to them. cert-manager is stood for by its CRDs.
package clusterctl
