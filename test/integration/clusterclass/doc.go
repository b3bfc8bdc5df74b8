// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterclass tries on the lab how a changed ClusterClass, or a changed Cluster of one, reaches the
// hosts: by a variable, by another template, by the content of a template. The topology controller rotates
// templates and writes references itself; nothing of ours may do it a second time, or write to what it keeps.
package clusterclass
