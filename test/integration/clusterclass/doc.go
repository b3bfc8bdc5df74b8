// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterclass tests on the lab how a change of a ClusterClass, or of a Cluster of one, reaches the
// hosts: by a variable, by another template, by the content of a template. The topology controller rotates
// templates and writes references itself; our controllers must neither do so a second time, nor write to the
// objects that it manages.
package clusterclass
