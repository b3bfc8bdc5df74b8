// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inplace looks for anything that would make Cluster API replace Machines instead of updating them
// in place: feature gates that are off, an extension that is not asked, a strategy with a surge. It is
// looked for before a reference is changed, because afterwards nothing of ours is asked any more. The names by which our own
// extension is known are here, too.
package inplace
