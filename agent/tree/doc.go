// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree tells whether the files of an OS arrived where they were copied to. The elemental CLI unpacks an image into a
// directory, runs hooks on it, and copies the result into a snapshot; when the disk is full, or fails, it ends with exit code 0
// all the same. So a manifest is recorded of the directory after the last hook, and compared with the snapshot before it is
// booted.
package tree
