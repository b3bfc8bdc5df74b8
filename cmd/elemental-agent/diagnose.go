// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/diagnose"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

func (f *flags) subject() diagnose.Subject {
	return diagnose.Subject{Host: system.NewHost(f.root), ConfigPath: f.config}
}

func checkCommand(given *flags) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check configuration, persistence, the way to the API, clock, token and key; changes nothing", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return diagnose.Check(command.Context(), command.OutOrStdout(), given.subject())
		},
	}
}

func statusCommand(given *flags) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Print what the host is, its key's fingerprint to compare before it is approved, and what it waits for", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return diagnose.Status(command.OutOrStdout(), given.subject())
		},
	}
}

func bundleCommand(given *flags) *cobra.Command {
	var path string
	command := &cobra.Command{
		Use: "support-bundle", Short: "Write a file to hand on with a report of a problem, without keys, tokens and bootstrap data", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := diagnose.WriteBundle(command.Context(), path, given.subject()); err != nil {
				return err
			}
			_, err := fmt.Fprintln(command.OutOrStdout(), path)
			return err
		},
	}
	command.Flags().StringVar(&path, "output", "elemental-support.tar.gz", "file to write; it must not exist")
	return command
}
