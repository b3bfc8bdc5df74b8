// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// defaultRebootTimeout is how long a graceful reboot may take before it is forced.
const defaultRebootTimeout = 5 * time.Minute

// Plugin is the Elemental OS of a host.
type Plugin struct {
	host          *system.Host
	log           *slog.Logger
	workDir       string
	configPath    string
	rebootTimeout time.Duration
	// sync flushes the file system of a path.
	sync func(path string) error
	// held is the lock of the OS, while this agent holds it.
	held *os.File
}

var _ osplugin.Plugin = (*Plugin)(nil)

// Options of the plugin.
type Options struct {
	Host *system.Host
	Log  *slog.Logger
	// WorkDir of the agent, a real path (not beneath the root).
	WorkDir string
	// ConfigPath of the agent's configuration, a real path.
	ConfigPath string
	// RebootTimeout is how long a graceful reboot, and then a forced one, may take. Default 5 minutes.
	RebootTimeout time.Duration
	// Sync flushes the file system of a path. Default: the kernel does, on the machine's own root.
	Sync func(path string) error
}

// New returns the plugin.
func New(options Options) *Plugin {
	if options.RebootTimeout == 0 {
		options.RebootTimeout = defaultRebootTimeout
	}
	return &Plugin{
		host: options.Host, log: options.Log, workDir: options.WorkDir, configPath: options.ConfigPath,
		rebootTimeout: options.RebootTimeout, sync: syncOf(options),
	}
}

// Init creates the directory for yip files, hides the files that the CLI has copied there, and copies or restores the installation state.
func (p *Plugin) Init(ctx context.Context) error {
	if err := os.MkdirAll(p.host.Path(oemDir), 0o755); err != nil {
		return fmt.Errorf("creating %s: %w", oemDir, err)
	}
	p.hideCopied()
	if mode := p.mode(); mode == osplugin.ModeActive || mode == osplugin.ModePassive {
		p.settleState(ctx)
	}
	return nil
}

// hideCopied makes the files with which a host was installed or reset readable by root only: the CLI copies them with mode 0666, including
// the host's key and the registration token. A failure, for example because /oem is mounted read-only, does not stop the agent.
func (p *Plugin) hideCopied() {
	copied, _ := filepath.Glob(p.host.Path(customFilePattern)) // the pattern is a constant
	for _, path := range copied {
		info, err := os.Lstat(path)
		if err == nil && (!info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0) {
			continue
		}
		if err == nil {
			err = os.Chmod(path, 0o600)
		}
		if err != nil {
			p.log.Warn("A file that may hold the host's key can be read by others: set its mode to 0600", "file", path, "error", err)
		}
	}
}

// Assess assesses the running boot.
func (p *Plugin) Assess(ctx context.Context, question assess.Question) (assess.Verdict, error) {
	return assess.Boot(ctx, p.host, question)
}

// Check runs the user's checks.
func (p *Plugin) Check(ctx context.Context, before assess.UnitStates) (assess.Verdict, error) {
	return assess.Checks(ctx, p.host, before)
}

// BeforeUpgrade runs the user's programs.
func (p *Plugin) BeforeUpgrade(ctx context.Context) (assess.Verdict, error) {
	return assess.BeforeUpgrade(ctx, p.host)
}

// Before assesses the running boot before an upgrade.
func (p *Plugin) Before(ctx context.Context, bootstrapped bool) (assess.UnitStates, error) {
	return assess.Before(ctx, p.host, bootstrapped)
}

// Reboot reboots through systemd, forcibly if that takes too long.
func (p *Plugin) Reboot(ctx context.Context) error { return p.goDown(ctx, "reboot") }

// PowerOff powers off through systemd, forcibly if that takes too long.
func (p *Plugin) PowerOff(ctx context.Context) error { return p.goDown(ctx, "poweroff") }

func (p *Plugin) goDown(ctx context.Context, verb string) error {
	if err := p.flush(); err != nil {
		return err
	}
	_, graceful := system.Check(ctx, p.host.Runner, "systemctl", verb)
	if graceful == nil {
		if err := system.Wait(ctx, p.host.Clock, p.rebootTimeout); err != nil {
			return err
		}
		p.log.Warn("The host did not go down, forcing it", "after", p.rebootTimeout)
	}
	_, forced := system.Check(ctx, p.host.Runner, "systemctl", verb, "--force")
	if forced != nil {
		return errors.Join(graceful, forced)
	}
	if err := system.Wait(ctx, p.host.Clock, p.rebootTimeout); err != nil {
		return err
	}
	return fmt.Errorf("the host does not go down: %q and %q had no effect", "systemctl "+verb, "systemctl "+verb+" --force")
}
