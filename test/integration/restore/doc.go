// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore tests, on the lab, what becomes of hosts when the management cluster is restored from a backup of its etcd that was made
// while one of them was being upgraded: docs/restore.md.
package restore
