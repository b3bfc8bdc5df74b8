// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rancherdrain answers the hooks of Rancher's drain of a Node. The answers follow from the attempts and the template at every look, so
// that it does not matter what was answered before, or by which manager. Attempts are made by internal/direct when the
// template is patched. They wait at Admit until Rancher drains their Node, and for what it does at HandOver and HandBack.
package rancherdrain
