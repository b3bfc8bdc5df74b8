// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
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
		Use: "compare LIST SUMS SNAPSHOT", Short: "Compare a snapshot with what was recorded and downloaded", Args: cobra.ExactArgs(3),
		RunE: func(command *cobra.Command, args []string) error {
			lists := tree.Lists{Recorded: args[0], Downloaded: args[1]}
			return tree.CompareSnapshot(command.Context(), system.Processes{}, lists, args[2], progress(command.OutOrStdout()))
		},
	})
	return command
}

// progressStep is after how many bytes progress is said again.
const progressStep = 16 << 20

// progress says how far it is to whoever has started the command.
func progress(to io.Writer) func(done, total int64) {
	said := int64(0)
	return func(done, total int64) {
		if done-said >= progressStep {
			said = done
			_, _ = fmt.Fprintf(to, tree.Progress+"\n", done, total)
		}
	}
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
