// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// KeptResetFile in the plugin's ResetDir lies beside the identity of the host that is to be reset.
const KeptResetFile = "reset-order.json"

// KeptReset is a reset that was requested and whose completion has not been acknowledged. The running system writes it and the
// recovery system reads it, so that neither the registration token nor the work directory is needed for a reset.
type KeptReset struct {
	// Reset is the reset configuration from the API.
	wire.Reset
	// Order identifies a request to reset the host; tries are counted for each. Empty in those of former releases.
	Order string `json:"order,omitempty"`
	// Wiped is whether the OS has been reset. It must not be reset again, and the API has to be informed.
	Wiped bool `json:"wiped,omitempty"`
}

// NewOrder returns the Order of a new request to reset the host.
func NewOrder(clock system.Clock) string { return clock.Now().UTC().Format(time.RFC3339Nano) }

// ReadKeptReset reports whether there is one. Without an identity there is none: agents of former releases remove the identity
// and not the file when they have reset the host.
func ReadKeptReset(dir string) (kept KeptReset, found bool, err error) {
	found, err = system.ReadJSON(filepath.Join(dir, KeptResetFile), &kept)
	if err != nil || !found || !identity.Exists(dir) {
		return KeptReset{}, false, err
	}
	return kept, true, nil
}

// KeepReset stores a reset in dir, for the host whose identity is in from. The file is written last, so that an interrupted
// call has no effect.
func KeepReset(dir, from string, kept KeptReset) error {
	if from != dir {
		if err := CopyIdentity(dir, from); err != nil {
			return err
		}
	}
	if err := system.WriteJSON(filepath.Join(dir, KeptResetFile), kept); err != nil {
		return fmt.Errorf("keeping the reset for the recovery system: %w", err)
	}
	return nil
}

// CopyIdentity copies the identity of the host from one directory to dir.
func CopyIdentity(dir, from string) error {
	for _, name := range []string{identity.KeyFile, identity.NameFile} {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return fmt.Errorf("storing the host's identity: %w", err)
		}
		if err := system.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("storing the host's identity: %w", err)
		}
	}
	return nil
}

// ForgetKeptReset removes the files of KeepReset. The file of the reset is removed first; without it the others are ignored.
func ForgetKeptReset(dir string) error {
	if err := system.RemoveFile(filepath.Join(dir, KeptResetFile)); err != nil {
		return err
	}
	return identity.Remove(dir)
}
