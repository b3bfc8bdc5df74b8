// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin/elemental"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/tree"
)

// treeCommand is what the agent calls itself as, in a hook of the CLI and in a mount namespace of its own.
func treeCommand() *cobra.Command {
	command := &cobra.Command{Use: "tree", Short: "Record or compare the files of an OS; the agent calls this", Hidden: true}
	command.AddCommand(&cobra.Command{
		Use: "record DIRECTORY LIST SNAPSHOTS", Short: "Record the files of a directory that becomes one of the snapshots", Args: cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error { return record(args[0], args[1], args[2]) },
	}, &cobra.Command{
		Use: "compare LIST IMAGE", Short: "Compare what was recorded with the file system in an image", Args: cobra.ExactArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			return tree.CompareSnapshot(command.Context(), system.Processes{}, args[0], args[1])
		},
	})
	return command
}

func record(directory, list, snapshots string) error {
	var stale error
	if former, found := elemental.CopiedOver(directory, snapshots); found {
		stale = tree.RemoveStale(directory, former)
	}
	file, err := os.OpenFile(list, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return errors.Join(stale, err)
	}
	// With the list the snapshot is judged by what it became.
	return errors.Join(stale, tree.Record(directory, file), file.Sync(), file.Close())
}
