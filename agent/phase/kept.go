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

// KeptReset is a reset that was asked for and whose end has not been acknowledged. The running system writes it and the
// recovery system goes by it, so that neither the registration token nor the work directory is needed for a reset.
type KeptReset struct {
	// Reset is what the API said of how to reset the host.
	wire.Reset
	// Order tells one request to reset the host from another, as far as tries are counted for it. Empty in those of former releases.
	Order string `json:"order,omitempty"`
	// Wiped says that the OS has been reset. It is not done once more, and the API has to be told.
	Wiped bool `json:"wiped,omitempty"`
}

// NewOrder is the Order of a reset that is asked for now.
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

// KeepReset keeps a reset in dir, for the host whose identity is in from. The file goes last: what is cut off before is as
// good as not begun.
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

// CopyIdentity makes the host in dir the one that it is in from.
func CopyIdentity(dir, from string) error {
	for _, name := range []string{identity.KeyFile, identity.NameFile} {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return fmt.Errorf("keeping who the host is: %w", err)
		}
		if err := system.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("keeping who the host is: %w", err)
		}
	}
	return nil
}

// ForgetKeptReset removes what KeepReset has kept. The file goes first: with it gone the rest means nothing.
func ForgetKeptReset(dir string) error {
	if err := system.RemoveFile(filepath.Join(dir, KeptResetFile)); err != nil {
		return err
	}
	return identity.Remove(dir)
}
