// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"fmt"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

const (
	// resetTriesFile in the plugin's RecoveryDir.
	resetTriesFile = "reset-tries.json"
	// maxResetRuns bounds how often the OS is tried to be reset for one order.
	maxResetRuns = 5
	// maxImageRuns bounds how many of these are with the images that the registration names.
	maxImageRuns = 3
)

// ResetTries counts how often the OS was tried to be reset, over all boots of the recovery system.
type ResetTries struct {
	// Order that they were for; see KeptReset.
	Order string `json:"order,omitempty"`
	// Count of tries that were begun.
	Count int `json:"count"`
	// Reason is why the last one that came to its end failed.
	Reason string `json:"reason,omitempty"`
	// Withdrawn is whether the desired state has had no reset since the last try. A reset after that is a new request.
	Withdrawn bool `json:"withdrawn,omitempty"`

	directory string
}

// ReadResetTries reads the tries for an order. Those for another do not count.
func ReadResetTries(directory, order string) (*ResetTries, error) {
	tries := &ResetTries{}
	_, err := system.ReadJSON(filepath.Join(directory, resetTriesFile), tries)
	if tries.Order != order {
		tries = &ResetTries{Order: order}
	}
	tries.directory = directory
	return tries, err
}

// ForgetResetTries removes the record of tries, and the files that they used.
func ForgetResetTries(directory string) error {
	return system.RemoveTree(filepath.Dir(directory), filepath.Base(directory))
}

// Exhausted reports whether no further try is made until a reset is requested again.
func (t *ResetTries) Exhausted() bool { return t.Count >= maxResetRuns }

// WithoutImages reports whether the next try uses the recovery system's own image, because those that the registration names may be
// the cause of the failures.
func (t *ResetTries) WithoutImages() bool { return t.Count >= maxImageRuns }

// Begin counts a try before it is made, so that one that is interrupted by a power failure counts too.
func (t *ResetTries) Begin() error {
	t.Count++
	return t.write()
}

// Fail records why a try has failed.
func (t *ResetTries) Fail(reason error) error {
	t.Reason = reason.Error()
	return t.write()
}

// Desire records whether a reset is desired, and returns whether that is a new request.
func (t *ResetTries) Desire(reset bool) (ordered bool, err error) {
	switch {
	case reset && t.Withdrawn:
		*t = ResetTries{Order: t.Order, directory: t.directory}
		return true, t.write()
	case !reset && !t.Withdrawn:
		t.Withdrawn = true
		return false, t.write()
	}
	return false, nil
}

func (t *ResetTries) write() error {
	if err := system.WriteJSON(filepath.Join(t.directory, resetTriesFile), t); err != nil {
		return fmt.Errorf("counting the tries of the reset: %w", err)
	}
	return nil
}
