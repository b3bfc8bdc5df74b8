// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package tree

func attributes(string) (string, error) { return "", nil }
