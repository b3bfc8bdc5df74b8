// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/diagnose"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/loop"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/phase"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/report"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/version"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// selfResetting is a plugin whose recovery system does not start "elemental-agent reset", so that "run" has to reset the host.
type selfResetting interface{ ResetsInRun() }

// Run reconciles the host with the desired state from the Elemental API until ctx ends, and registers it first if necessary. It returns
// osplugin.ErrRestart if, in place of a reboot, it has to be called again on a new Agent.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.Plugin.Init(ctx); err != nil {
		return fmt.Errorf("initializing the OS plugin: %w", err)
	}
	facts := a.firstFacts(ctx)
	a.checkPersistence(facts)
	if facts.Mode == osplugin.ModeRecovery && !identity.Exists(a.workDir) {
		return a.idle(ctx, "the recovery system has no identity of the host")
	}
	api, host, err := a.present(ctx, facts)
	if err != nil {
		return err
	}
	defer api.Close()
	phases, board, err := a.phases(api, host)
	if err != nil {
		return err
	}
	pending, err := phases.ResetPending()
	if err != nil {
		return err
	}
	if pending {
		return a.continueReset(ctx, facts, phases)
	}
	if err := a.abandonReset(ctx, facts); err != nil {
		return err
	}
	return a.loop(ctx, api, host, phases, board)
}

// firstFacts returns the facts about the booted OS that can be determined. An error must not end the agent, which would restart for ever
// without reporting anything: the phases look again, and report the error.
func (a *Agent) firstFacts(ctx context.Context) osplugin.Facts {
	facts, err := a.Plugin.Facts(ctx)
	if err != nil {
		a.Log.Error("Observing the booted OS failed", "error", err)
	}
	return facts
}

// checkPersistence logs an error if the work directory, and with it identity and state, does not survive a reboot. The agent continues,
// since this boot can still be reported. Live media and recovery are volatile by design.
func (a *Agent) checkPersistence(facts osplugin.Facts) {
	if err := a.persistent(facts.Mode); err != nil {
		a.Log.Error("The work directory has to be persistent: name a directory on the persistent partition in agent.workDir", "error", err)
	}
}

func (a *Agent) persistent(mode string) error {
	if !a.Host.Real() || mode == osplugin.ModeLive || mode == osplugin.ModeRecovery {
		return nil
	}
	return diagnose.Persistent(a.Host, a.Config.Agent.WorkDir)
}

// volatile returns why the work directory does not survive a reboot, and what to do; empty if it does, or if that cannot be determined.
func (a *Agent) volatile(mode string) string {
	err := a.persistent(mode)
	if !errors.Is(err, diagnose.ErrNotPersistent) {
		return ""
	}
	return fmt.Sprintf("%s: name a directory on the persistent partition in agent.workDir of the agent's configuration", err)
}

// present returns the host's present identity, after finishing an interrupted reset.
func (a *Agent) present(ctx context.Context, facts osplugin.Facts) (*client.Client, *identity.Identity, error) {
	if facts.Mode != osplugin.ModeRecovery {
		if err := a.resumeReset(ctx); err != nil {
			return nil, nil, err
		}
	}
	api, host, err := a.connect()
	if err != nil {
		return nil, nil, err
	}
	if err := a.forgetFormerLife(host); err != nil {
		api.Close()
		return nil, nil, err
	}
	return api, host, nil
}

func (a *Agent) phases(api *client.Client, host *identity.Identity) (*phase.Phases, *report.Board, error) {
	bootstrap, err := phase.ReadBootstrapMark(a.workDir)
	if err != nil {
		return nil, nil, err
	}
	board := report.New(api, a.Host.Clock, a.policy(), a.Log)
	board.Update(func(r *wire.Report) { r.AgentVersion, r.Phase = version.Version, wire.HostRunning })
	machine, err := upgrade.New(upgrade.Options{
		Plugin: a.Plugin, Images: a.Images, Clock: a.Host.Clock, Reporter: board, Log: a.Log, WorkDir: a.workDir,
		Bootstrapped: bootstrap.Done, Volatile: a.volatile, Policy: a.UpgradePolicy,
	})
	if err != nil {
		return nil, nil, err
	}
	key, err := host.PublicKey()
	if err != nil {
		return nil, nil, err
	}
	return phase.New(phase.Options{
		Plugin: a.Plugin, API: api, Board: board, Host: a.Host, Log: a.Log, WorkDir: a.workDir, Name: host.Name, Key: key,
		Machine: machine, Bootstrap: bootstrap, Volatile: a.volatile,
	}), board, nil
}

func (a *Agent) loop(ctx context.Context, api *client.Client, host *identity.Identity, phases *phase.Phases, board *report.Board) error {
	// The first report has to be complete.
	_, err := phases.Observe(ctx)
	phases.Failed(err)
	known, err := a.isRegistered(host.Name)
	if err != nil {
		return err
	}
	return loop.New(loop.Options{
		API: api, Actor: phases, Board: board, Clock: a.Host.Clock, Log: a.Log, Policy: a.policy(), Wait: a.Wait,
		Quiet: a.followAuthorities(api), Idle: a.Idle, Registration: !known, Registered: func() error { return a.markRegistered(host.Name) },
	}).Run(ctx)
}

// continueReset prevents a host with a pending reset from registering as it is.
func (a *Agent) continueReset(ctx context.Context, facts osplugin.Facts, phases *phase.Phases) error {
	if facts.Mode != osplugin.ModeRecovery {
		a.Log.Info("A reset is pending, booting into recovery")
		if err := phases.TriggerReset(ctx); err != nil {
			return err
		}
		return a.idle(ctx, "the host could not be reset; boot it into recovery and run \"elemental-agent reset\"")
	}
	if _, selfResets := a.Plugin.(selfResetting); !selfResets {
		return a.idle(ctx, "the recovery system resets the host")
	}
	if err := a.Reset(ctx); err != nil {
		return err
	}
	return a.Plugin.Reboot(ctx)
}

// abandonReset removes the files of a reset that is no longer pending. Not in recovery: a reset that cannot see the work directory may be
// under way.
func (a *Agent) abandonReset(ctx context.Context, facts osplugin.Facts) error {
	if facts.Mode == osplugin.ModeRecovery {
		return nil
	}
	if err := phase.ForgetKeptReset(a.Plugin.ResetDir()); err != nil {
		return err
	}
	return a.Plugin.AbandonReset(ctx)
}

func (a *Agent) idle(ctx context.Context, reason string) error {
	a.Log.Info("Nothing to do in this boot", "reason", reason)
	<-ctx.Done()
	return ctx.Err()
}
