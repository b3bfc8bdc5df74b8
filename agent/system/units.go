// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"fmt"
	"strings"
)

// ActiveStates returns the state of each of these systemd units: active, activating, inactive, failed and so on. The exit code
// is ignored: it says only that one of them is not active.
func (h *Host) ActiveStates(ctx context.Context, units ...string) ([]string, error) {
	command := Command{Name: "systemctl", Args: append([]string{"is-active"}, units...)}
	result, err := h.Runner.Run(ctx, command)
	if err != nil {
		return nil, fmt.Errorf("asking systemd: %w", err)
	}
	states := strings.Fields(result.Stdout)
	if len(states) == 0 {
		return nil, fmt.Errorf("asking systemd: %q printed nothing: %s", command, LastLine(result.Stderr))
	}
	return states, nil
}
