// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Restore takes the management cluster back to a backup of its etcd (kube.Cluster.Backup): its managers and its own processes are stopped,
// and started again with what the backup has. Hosts and workload clusters go on meanwhile.
func (l *Lab) Restore(ctx context.Context, backup string) error {
	l.stopManagers()
	l.Management.Stop()
	if err := l.Management.UseBackup(backup); err != nil {
		return err
	}
	if err := l.Management.Restart(ctx); err != nil {
		return err
	}
	starting, ctx := errgroup.WithContext(ctx)
	for _, provider := range l.providers() {
		starting.Go(func() error {
			if err := provider.Process.Restart(); err != nil {
				return err
			}
			return provider.AwaitReady(ctx)
		})
	}
	if err := starting.Wait(); err != nil {
		return err
	}
	l.progress("the management cluster is restored from a backup")
	return nil
}
