// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// agentName is the name under which the test binary acts as the agent.
const agentName = "elemental-agent"

// TestMain lets the test binary act as the host's commands and as the agent, so that nothing else has to be built.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == agentName:
		os.Exit(agentMain())
	case double.Is(os.Args[0]):
		os.Exit(double.Main())
	default:
		os.Exit(m.Run())
	}
}

// agentMain is cmd/elemental-agent with shorter delays.
func agentMain() int {
	flags := flag.NewFlagSet(agentName, flag.ContinueOnError)
	root, path := flags.String("root", "/", ""), flags.String("config", "", "")
	flags.Bool("install", false, "register is called with it, always")
	if err := flags.Parse(os.Args[2:]); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := work(ctx, os.Args[1], *root, *path); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	return 0
}

func work(ctx context.Context, command, root, path string) error {
	settings, err := config.Load(path)
	if err != nil {
		return err
	}
	policy := upgrade.DefaultPolicy
	policy.Registry = retry.Policy{First: 20 * time.Millisecond, Max: 100 * time.Millisecond, Attempts: 5}
	policy.Act = retry.Policy{First: 50 * time.Millisecond, Max: 500 * time.Millisecond}
	policy.AssessInterval, policy.StableWindow = 20*time.Millisecond, 100*time.Millisecond
	if content, err := os.ReadFile(filepath.Join(root, assessPolicyFile)); err == nil {
		if err := json.Unmarshal(content, &policy); err != nil {
			return err
		}
	}
	worker, err := agent.New(agent.Options{
		Config: settings, ConfigPath: path, Host: system.NewHost(root), UpgradePolicy: policy,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		return err
	}
	switch command {
	case "run":
		return worker.Run(ctx)
	case "register":
		return worker.Register(ctx, true)
	case "reset":
		return worker.Reset(ctx)
	default:
		return errors.New("unknown command " + command)
	}
}

// assessPolicyFile of a host overrides fields of the assessment policy, as JSON; durations are in nanoseconds.
const assessPolicyFile = "/lab/assess-policy.json"

func TestAgent(t *testing.T) {
	specs.Run(t, "Agent on hosts of the lab")
}
