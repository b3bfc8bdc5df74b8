// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree verifies the files of an OS after they were copied. The elemental CLI unpacks an image into a directory, runs hooks on it,
// and copies the result into a snapshot; it exits with code 0 even if the disk is full or fails. Therefore a manifest of the directory is
// recorded after the last hook, and the snapshot is compared with it before it is booted.
package tree
