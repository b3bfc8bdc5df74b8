// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import "context"

// alone changes the OS while nobody else does. To wait for others is no failure; the attempt says why it waits, but keeps what it
// has said before: an agent that is started meanwhile goes on with that.
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
