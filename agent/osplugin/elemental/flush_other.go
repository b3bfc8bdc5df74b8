// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package elemental

// Elemental hosts run Linux.
func syncFileSystem(string) error { return nil }

type openState struct{}

func (*Plugin) openState() (openState, error) { return openState{}, nil }

func (openState) sync() error { return nil }
