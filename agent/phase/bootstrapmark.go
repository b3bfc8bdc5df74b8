// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// BootstrapMarkFile is the name of the bootstrap's marker in the work directory.
const BootstrapMarkFile = "bootstrap.json"

// Phases of a bootstrap.
const (
	bootstrapPlacing = "placing"
	bootstrapPlaced  = "placed"
	bootstrapDone    = "done"
)

type bootstrapMark struct {
	Phase string `json:"phase"`
	// BootID of the boot in which the data was placed: it is applied in the next.
	BootID string `json:"bootID,omitempty"`
}

// BootstrapMark is the persistent state of the bootstrap.
type BootstrapMark struct {
	path string
	lock sync.Mutex
	mark bootstrapMark
}

// ReadBootstrapMark reads the mark in the work directory.
func ReadBootstrapMark(workDir string) (*BootstrapMark, error) {
	mark := &BootstrapMark{path: filepath.Join(workDir, BootstrapMarkFile)}
	if _, err := system.ReadJSON(mark.path, &mark.mark); err != nil {
		return nil, fmt.Errorf("reading the bootstrap mark: %w", err)
	}
	return mark, nil
}

// MarkBootstrapped records that a host without a mark is bootstrapped.
func MarkBootstrapped(workDir string) error {
	mark, err := ReadBootstrapMark(workDir)
	if err != nil {
		return err
	}
	return mark.set(bootstrapMark{Phase: bootstrapDone})
}

// Done reports whether the host is bootstrapped.
func (b *BootstrapMark) Done() bool { return b.get().Phase == bootstrapDone }

func (b *BootstrapMark) get() bootstrapMark {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.mark
}

func (b *BootstrapMark) set(mark bootstrapMark) error {
	if err := system.WriteJSON(b.path, mark); err != nil {
		return fmt.Errorf("storing the bootstrap mark: %w", err)
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	b.mark = mark
	return nil
}
