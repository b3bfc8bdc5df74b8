// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs is the documentation for users. It has no code but its tests, which hold the pages
// against the code that they describe: no reason without an entry, no flag or label without a line, no
// link that leads nowhere.
package docs
