// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
)

// Kill kills all processes, as the power cut of the only node does. What etcd has stored remains.
func (c *Cluster) Kill() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].Kill()
	}
}

// Restart starts all processes again after Stop or Kill, and returns when the API server is ready.
func (c *Cluster) Restart(ctx context.Context) error {
	for _, stopped := range c.processes {
		if err := stopped.Restart(); err != nil {
			return fmt.Errorf("restarting the %s cluster: %w", c.options.Name, err)
		}
		switch stopped {
		case c.etcd:
			if err := c.awaitEtcd(ctx); err != nil {
				return err
			}
		case c.APIServer: // the others exit without one
			if err := c.awaitAPIServer(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
