// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package elemental

// Elemental hosts run Linux.
func (p *Plugin) flush() error { return nil }

type disk struct{}

func (*Plugin) watchDisk() (disk, error) { return disk{}, nil }

func (disk) flush() error { return nil }
