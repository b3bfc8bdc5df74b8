// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/boot"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/install"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

// Exit codes that the real CLI returns. Whatever fails once an action runs exits 1, contrary to the table of exit codes
// in its documentation.
const (
	exitFailed  = 1
	exitSpec    = 33
	exitTarget  = 47
	exitStage   = 65
	exitNoState = 89
)

// Version is that of the CLI that is simulated.
const Version = "v2.3.2"

// Host is what a call acts on.
type Host interface {
	install.Host
	// PowerOff ends all without the services of the OS, and Reboot boots it again.
	PowerOff() error
	Reboot() error
}

// Call of the CLI.
type Call struct {
	// Args are the arguments, without the name.
	Args []string
	// Environ is the environment, as of os.Environ.
	Environ        []string
	Stdout, Stderr io.Writer
	// Now is the clock.
	Now func() time.Time
	// On returns the host; the log is what the call writes.
	On func(log *logrus.Logger) Host
}

// run is a call whose arguments are parsed.
type run struct {
	Call
	options
	log  *logrus.Logger
	host Host
}

// Run runs the CLI and returns its exit code.
func (c Call) Run(ctx context.Context) int {
	r := &run{Call: c, log: logrus.New()}
	r.log.SetOutput(c.Stdout)
	r.log.SetFormatter(&logrus.TextFormatter{ForceColors: true, FullTimestamp: true})
	r.log.AddHook(clock{c.Now})
	r.host = c.On(r.log)
	var err error
	r.options, err = r.parse()
	if err != nil {
		return r.fail(exitFailed, "Error: %v", err)
	}
	if r.quiet {
		r.log.SetOutput(io.Discard)
	}
	if r.debug {
		r.log.SetLevel(logrus.DebugLevel)
	}
	if r.name != "state" && r.name != "version" { // which print nothing else
		r.log.Infof("Starting elemental version %s", Version)
		r.log.Infof("Reading configuration from '%s'", r.configDir)
	}
	return r.command(ctx)
}

func (r *run) command(ctx context.Context) int {
	switch r.name {
	case "install":
		return r.install(ctx)
	case "upgrade":
		return r.upgrade(ctx)
	case "reset":
		return r.reset(ctx)
	case "run-stage":
		return r.runStage(ctx)
	case "state":
		return r.showState()
	case "init":
		return r.init()
	case "version":
		_, _ = fmt.Fprintln(r.Stdout, Version)
		return 0
	default:
		return r.fail(exitFailed, "Error: unknown command %q for \"elemental\"", r.name)
	}
}

// clock gives the log entries its time.
type clock struct{ now func() time.Time }

// Levels implements logrus.Hook.
func (clock) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook.
func (c clock) Fire(entry *logrus.Entry) error {
	entry.Time = c.now().UTC()
	return nil
}

// fail prints a message to standard error and returns the exit code.
func (r *run) fail(code int, format string, args ...any) int {
	_, _ = fmt.Fprintf(r.Stderr, format+"\n", args...)
	return code
}

// ended logs what an action ended with.
func (r *run) ended(action string, err error) int {
	if err != nil {
		r.log.Errorf("%s command failed: %s", action, occurred(err))
		return exitFailed
	}
	switch {
	case r.reboot:
		err = r.host.Reboot()
	case r.powerOff:
		err = r.host.PowerOff()
	}
	if err != nil {
		return r.fail(exitFailed, "%v", err)
	}
	return 0
}

// occurred lists errors as the CLI does.
func occurred(err error) string {
	lines := strings.Split(err.Error(), "\n")
	count := fmt.Sprintf("%d errors", len(lines))
	if len(lines) == 1 {
		count = "1 error"
	}
	return count + " occurred:\n\t* " + strings.Join(lines, "\n\t* ") + "\n\n"
}

func (r *run) action(system source.Source) *install.Action {
	return &install.Action{
		Host: r.host, System: system, Labels: r.labels, CloudInit: r.cloudInit, CloudInitPaths: r.cloudInitPaths, Strict: r.strict, Log: r.log, Now: r.Now,
	}
}

func (r *run) upgrade(ctx context.Context) int {
	system, err := source.Parse(r.system)
	if r.system == "" || err != nil {
		if err != nil {
			r.log.Warnf("error unmarshalling UpgradeSpec: %v", err)
		}
		r.log.Error("Invalid upgrade command setup failed sanitizing upgrade spec: undefined upgrade source")
		return exitSpec
	}
	if _, exists := r.host.Partition(disk.LabelState); !exists {
		r.log.Error("Invalid upgrade command setup failed sanitizing upgrade spec: undefined state partition")
		return exitSpec
	}
	r.log.Info("Upgrade called")
	action := r.action(system)
	action.Recovery = r.recovery
	if r.recoverySystem != "" {
		if action.RecoverySystem, err = source.Parse(r.recoverySystem); err != nil {
			r.log.Warnf("error unmarshalling UpgradeSpec: %v", err)
		}
	}
	return r.ended("upgrade", action.Upgrade(ctx))
}

func (r *run) reset(ctx context.Context) int {
	if !r.host.InRecovery() {
		r.log.Errorf("invalid reset command setup failed initializing reset spec: %v", install.ErrNotInRecovery)
		return exitSpec
	}
	system, err := source.Parse(r.system)
	if err != nil {
		system = source.Source{}
	}
	r.log.Info("Reset called")
	action := r.action(system)
	action.FormatOEM, action.FormatPersistent = r.resetOEM, r.resetPersistent
	return r.ended("reset", action.Reset(ctx))
}

// install takes the tree of the live media, unless another source is given.
func (r *run) install(ctx context.Context) int {
	system := source.Source{Kind: source.Dir, Value: r.host.Path(boot.LiveTree)}
	if r.system != "" {
		var err error
		if system, err = source.Parse(r.system); err != nil {
			r.log.Errorf("invalid install command setup failed sanitizing install spec: %v", err)
			return exitSpec
		}
	}
	if r.target == "" {
		return r.fail(exitTarget, "Error: at least a target device must be supplied")
	}
	if _, err := os.Stat(r.host.Path(r.target)); err != nil {
		r.log.Errorf("Disk %s does not exist", r.target)
		return r.ended("install", fmt.Errorf("disk %s does not exist", r.target))
	}
	r.log.Info("Install called")
	action := r.action(system)
	action.Device = r.target
	return r.ended("install", action.Install(ctx))
}

func (r *run) runStage(ctx context.Context) int {
	if len(r.args) == 0 {
		return r.fail(exitFailed, "Error: requires at least 1 arg(s), only received 0")
	}
	err := r.host.RunStage(ctx, r.args[0], r.cloudInitPaths)
	switch {
	case err == nil:
		return 0
	case r.strict:
		return r.fail(exitStage, "Error: %s", occurred(err))
	}
	r.log.Info("Some errors found but were ignored. Enable --strict mode to fail on those or --debug to see them in the log")
	r.log.Warn(occurred(err))
	return 0
}

func (r *run) showState() int {
	f, err := state.Read(r.host.Path(disk.StateDir, disk.StateFile))
	if err != nil {
		return r.fail(exitNoState, "Error: %v", err)
	}
	data, err := f.Marshal()
	if err != nil {
		return r.fail(exitNoState, "Error: %v", err)
	}
	_, err = r.Stdout.Write(data)
	if err != nil {
		return exitNoState
	}
	return 0
}

// image is a host that is the tree of an OS image.
type image interface {
	// Init adds to it what a host needs to boot.
	Init() error
}

func (r *run) init() int {
	tree, isImage := r.host.(image)
	if !isImage {
		return r.fail(exitFailed, "Error: running outside of container")
	}
	if err := tree.Init(); err != nil {
		r.log.Errorf("Error installing features: %v", err)
		return exitFailed
	}
	return 0
}

// getenv returns the last value of a variable.
func (c Call) getenv(name string) string {
	for _, each := range slices.Backward(c.Environ) {
		if value, found := strings.CutPrefix(each, name+"="); found {
			return value
		}
	}
	return ""
}

var errOneCommand = errors.New("one command is wanted: init, install, upgrade, reset, run-stage, state or version")
