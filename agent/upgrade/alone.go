// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import "context"

// alone changes the OS while it holds the lock. Waiting for the lock is not a failure; the attempt reports why it waits, and the marker
// keeps its former message, with which an agent that is restarted meanwhile continues.
func (m *Machine) alone(ctx context.Context, change func() (bool, error)) (bool, error) {
	waited := false
	release, err := m.Plugin.Exclusive(ctx, func(reason string) {
		waited = true
		waiting := m.Marker()
		waiting.Message = "waiting: " + reason
		m.Reporter.Attempt(waiting.Wire())
	})
	if err != nil {
		return false, err
	}
	defer release()
	if waited {
		m.Reporter.Attempt(m.Marker().Wire())
	}
	return change()
}
