// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"os"
)

// Backup copies all that etcd has stored to a folder, which must not exist. etcd is frozen meanwhile: the copy is what a crash at this moment
// would leave, from which it starts.
func (c *Cluster) Backup(folder string) error {
	c.etcd.Freeze()
	defer c.etcd.Thaw()
	if err := os.CopyFS(folder, os.DirFS(c.path("etcd"))); err != nil {
		return fmt.Errorf("backing up etcd of the %s cluster: %w", c.options.Name, err)
	}
	return nil
}

// UseBackup replaces what etcd has stored by a backup. All processes have to be stopped; Restart starts them again.
func (c *Cluster) UseBackup(folder string) error {
	if err := os.RemoveAll(c.path("etcd")); err != nil {
		return fmt.Errorf("removing what etcd of the %s cluster has stored: %w", c.options.Name, err)
	}
	if err := os.CopyFS(c.path("etcd"), os.DirFS(folder)); err != nil {
		return fmt.Errorf("restoring etcd of the %s cluster: %w", c.options.Name, err)
	}
	return nil
}
