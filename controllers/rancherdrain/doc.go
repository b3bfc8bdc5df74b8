// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rancherdrain answers the hooks of Rancher's drain of a Node. The answers follow from the attempts and the template at every look, so
// that it does not matter what was answered before, or by which manager. Attempts are begun by internal/direct, and wait for Rancher in
// their steps HandOver and HandBack.
package rancherdrain
