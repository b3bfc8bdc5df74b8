// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import "context"

// alone changes the OS while nobody else does. To wait for others is no failure; the attempt says why it waits.
func (m *Machine) alone(ctx context.Context, change func() (bool, error)) (bool, error) {
	said := m.Marker().Message
	waited := false
	release, err := m.Plugin.Exclusive(ctx, func(reason string) {
		waited = true
		m.say("waiting: " + reason)
	})
	if err != nil {
		return false, err
	}
	defer release()
	if waited {
		m.say(said)
	}
	return change()
}

// say changes the message of the attempt alone. One that cannot be stored is not worth an error.
func (m *Machine) say(message string) {
	marker := m.Marker()
	marker.Message = message
	if err := m.save(marker); err != nil {
		m.Log.Warn("Storing what the attempt waits for failed", "attempt", marker.Attempt, "message", message, "error", err)
	}
}
