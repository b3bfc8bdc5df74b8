// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/watchdog"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/version"
)

type flags struct {
	config string
	root   string
	debug  bool
}

func newCommand() *cobra.Command {
	var given flags
	root := &cobra.Command{
		Use:               "elemental-agent",
		Short:             "Registers this host with an Elemental API and makes it what the API desires",
		Version:           version.Version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate(versionText())
	persistent := root.PersistentFlags()
	persistent.StringVar(&given.config, "config", config.DefaultPath, "configuration file; it is not resolved beneath --root")
	persistent.StringVar(&given.root, "root", "/", "directory that all other paths of the host are resolved beneath")
	persistent.BoolVar(&given.debug, "debug", false, "log more")
	root.AddCommand(runCommand(&given), registerCommand(&given), installCommand(&given), resetCommand(&given), checkCommand(&given), statusCommand(&given), bundleCommand(&given), versionCommand(), treeCommand())
	return root
}

func versionText() string {
	return fmt.Sprintf("Agent version %s, commit %s\n", version.Version, version.Commit)
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(command *cobra.Command, _ []string) { fmt.Fprint(command.OutOrStdout(), versionText()) },
	}
}

func runCommand(given *flags) *cobra.Command {
	return &cobra.Command{
		Use: "run", Short: "Keep the host as the Elemental API desires it; registers it first if need be", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return run(command.Context(), given) },
	}
}

// run starts the agent again in this process when its OS has no machine to reboot.
func run(ctx context.Context, given *flags) error {
	watched, err := watchdog.FromEnvironment()
	if err != nil {
		return err
	}
	go watched.Run(ctx, system.WallClock{}, slog.Default())
	for {
		worker, err := newAgent(given)
		if err != nil {
			return err
		}
		if err := worker.Run(ctx); !errors.Is(err, osplugin.ErrRestart) {
			return err
		}
	}
}

func registerCommand(given *flags) *cobra.Command {
	var install bool
	command := &cobra.Command{
		Use: "register", Short: "Register the host; can be repeated", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			worker, err := newAgent(given)
			if err != nil {
				return err
			}
			return worker.Register(command.Context(), install)
		},
	}
	command.Flags().BoolVar(&install, "install", false,
		"also make name, key and configuration last, and install the OS when running from live media")
	return command
}

func installCommand(given *flags) *cobra.Command {
	return &cobra.Command{
		Use: "install", Short: "Install the OS from live media; does nothing on an installed host", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			worker, err := newAgent(given)
			if err != nil {
				return err
			}
			return worker.Install(command.Context())
		},
	}
}

func resetCommand(given *flags) *cobra.Command {
	var again bool
	command := &cobra.Command{
		Use: "reset", Short: "Reset the host to factory state and register it again; runs in the recovery system", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			worker, err := newAgent(given)
			if err != nil {
				return err
			}
			reset := worker.Reset
			if again {
				reset = worker.ResetAgain
			}
			err = reset(command.Context())
			if errors.Is(err, osplugin.ErrRestart) {
				return nil
			}
			return err
		},
	}
	command.Flags().BoolVar(&again, "again", false, "try again what could not be done in the tries that there are for one order")
	return command
}

func newAgent(given *flags) (*agent.Agent, error) {
	settings, err := config.Load(given.config)
	if err != nil {
		return nil, err
	}
	level := slog.LevelInfo
	if given.debug || settings.Agent.Debug {
		level = slog.LevelDebug
	}
	return agent.New(agent.Options{
		Config:     settings,
		ConfigPath: given.config,
		Host:       system.NewHost(given.root),
		Idle:       system.Trim,
		Log:        slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
	})
}
