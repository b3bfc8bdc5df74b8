// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/install"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/power"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

// Exit codes that the real CLI returns. Whatever fails once an action runs exits 1, contrary to the table of exit codes
// in its documentation.
const (
	exitFailed  = 1
	exitSpec    = 33
	exitTarget  = 47
	exitNoState = 89
)

// toolkitVersion is the version of the CLI whose behaviour is simulated.
const toolkitVersion = "v2.3.2"

// options of the elemental CLI; flags win over the environment.
type options struct {
	system           string
	recovery         bool
	labels           string
	resetOEM         bool
	resetPersistent  bool
	reboot, powerOff bool
}

func elemental(ctx context.Context, c *Call) int {
	o, args, err := elementalOptions(c)
	if err != nil {
		return c.fail(exitFailed, "Error: %v", err)
	}
	if len(args) == 0 || (len(args) > 1 && args[0] != "install") {
		return c.fail(exitFailed, "Error: one command is wanted: install, upgrade, reset, state or version")
	}
	switch args[0] {
	case "install":
		return installOS(ctx, c, o, args[1:])
	case "upgrade":
		return upgrade(ctx, c, o)
	case "reset":
		return reset(ctx, c, o)
	case "state":
		return showState(c)
	case "version":
		c.print("%s\n", toolkitVersion)
		return 0
	default:
		return c.fail(exitFailed, "Error: unknown command %q for \"elemental\"", args[0])
	}
}

func elementalOptions(c *Call) (options, []string, error) {
	truthy := func(name string) bool {
		v := strings.ToLower(c.getenv(name))
		return v == "true" || v == "1"
	}
	o := options{
		system:          c.getenv("ELEMENTAL_UPGRADE_SYSTEM"),
		recovery:        truthy("ELEMENTAL_UPGRADE_RECOVERY"),
		labels:          c.getenv("ELEMENTAL_UPGRADE_SNAPSHOT_LABELS"),
		resetOEM:        truthy("ELEMENTAL_RESET_OEM"),
		resetPersistent: truthy("ELEMENTAL_RESET_PERSISTENT"),
		reboot:          truthy("ELEMENTAL_REBOOT"),
		powerOff:        truthy("ELEMENTAL_POWEROFF"),
	}
	f := pflag.NewFlagSet("elemental", pflag.ContinueOnError)
	f.SetOutput(c.Stderr)
	f.StringVar(&o.system, "system", o.system, "")
	f.BoolVar(&o.recovery, "recovery", o.recovery, "")
	f.StringVar(&o.labels, "snapshot-labels", o.labels, "")
	f.BoolVar(&o.resetOEM, "reset-oem", o.resetOEM, "")
	f.BoolVar(&o.resetPersistent, "reset-persistent", o.resetPersistent, "")
	f.BoolVar(&o.reboot, "reboot", o.reboot, "")
	f.BoolVar(&o.powerOff, "poweroff", o.powerOff, "")
	// These have no effect here; tls-verify has no effect in the real CLI either.
	for _, name := range []string{"debug", "quiet", "bootloader", "strict", "local", "cosign", "verify", "tls-verify"} {
		f.Bool(name, false, "")
	}
	for _, name := range []string{"config-dir", "logfile", "cosign-key", "recovery-system.uri", "cloud-init-paths"} {
		f.String(name, "", "")
	}
	err := f.Parse(c.Argv[1:])
	return o, f.Args(), err
}

func upgrade(ctx context.Context, c *Call, o options) int {
	src, err := source.Parse(o.system)
	if o.system == "" || err != nil {
		if err != nil {
			_ = c.fail(0, "WARN error unmarshalling UpgradeSpec: %v", err)
		}
		return c.fail(exitSpec, "ERRO Invalid upgrade command setup failed sanitizing upgrade spec: undefined upgrade source")
	}
	if _, err := os.Stat(c.Disk.State()); err != nil {
		return c.fail(exitSpec, "ERRO Invalid upgrade command setup failed sanitizing upgrade spec: undefined state partition")
	}
	if o.recovery && install.InRecovery(c.Disk) {
		return c.fail(exitFailed, "ERRO Upgrading recovery image from the recovery system itself is not supported")
	}
	action := c.action(src, o)
	// A test that no longer listens must not keep an image from being written.
	action.HalfWay = func() { _ = rendezvous.Meet(string(c.Disk), rendezvous.Moment{Argv: c.Argv, HalfWay: true}) }
	action.CutPower = func() { c.power(power.Request{Action: power.Reboot, Force: true}) }
	if err := action.Upgrade(ctx); err != nil {
		return c.failed(err)
	}
	c.ranHooks(action.FailingStage())
	c.log(infoLevel, "Upgrade completed")
	return c.powerAction(o)
}

// ranHooks logs the toolkit's hooks. Without --strict a failing hook only logs errors: that of the command, after its
// output, and a summary.
func (c *Call) ranHooks(failing string) {
	for _, stage := range source.Stages {
		c.log(infoLevel, "Running "+stage+" hook")
		if stage == failing {
			c.log(errorLevel, "no cache\n : failed to run exit 3: exit status 3")
			c.log(errorLevel, "1 error occurred:\n\t* failed to run exit 3: exit status 3\n")
		}
	}
}

const (
	infoLevel  = "\x1b[36mINFO"
	errorLevel = "\x1b[31mERRO"
)

// log writes a log entry to standard output, as the CLI does.
func (c *Call) log(level, message string) {
	c.print("%s\x1b[0m[%s] %s \n", level, c.Now().UTC().Format(time.RFC3339), message)
}

func reset(ctx context.Context, c *Call, o options) int {
	if !install.InRecovery(c.Disk) {
		return c.fail(exitSpec, "ERRO Invalid reset command setup: %v", install.ErrNotInRecovery)
	}
	src, err := source.Parse(c.getenv("ELEMENTAL_RESET_SYSTEM"))
	if err != nil {
		src = source.Source{}
	}
	action := c.action(src, o)
	action.FormatOEM, action.FormatPersistent = o.resetOEM, o.resetPersistent
	if err := action.Reset(ctx); err != nil {
		return c.failed(err)
	}
	return c.powerAction(o)
}

// failed logs the errors to standard output in the order in which they occurred, as the CLI does.
func (c *Call) failed(err error) int {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		c.log(errorLevel, line)
	}
	return exitFailed
}

func (c *Call) action(src source.Source, o options) *install.Action {
	return &install.Action{
		Disk:      c.Disk,
		System:    src,
		Recovery:  o.recovery,
		Labels:    parseLabels(o.labels),
		UserAgent: fmt.Sprintf("elemental-cli/%s (%s)", toolkitVersion, hostname(c.Disk)),
		Now:       c.Now,
	}
}

func hostname(d disk.Disk) string {
	name, err := os.ReadFile(d.Path("/etc/hostname"))
	if err != nil {
		return "localhost"
	}
	return strings.TrimSpace(string(name))
}

// parseLabels parses "name=value,name=value".
func parseLabels(text string) map[string]string {
	if text == "" {
		return nil
	}
	labels := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		labels[strings.TrimSpace(name)] = value
	}
	return labels
}

// powerAction is --reboot and --poweroff, which the CLI carries out without systemd.
func (c *Call) powerAction(o options) int {
	switch {
	case o.reboot:
		return c.power(power.Request{Action: power.Reboot, Force: true})
	case o.powerOff:
		return c.power(power.Request{Action: power.Off, Force: true})
	default:
		return 0
	}
}

func showState(c *Call) int {
	f, err := state.Read(c.Disk.State(disk.StateFile))
	if err != nil {
		return c.fail(exitNoState, "ERRO Error reading installation state: %v", err)
	}
	data, err := f.Marshal()
	if err != nil {
		return c.fail(exitNoState, "ERRO Error marshalling installation state: %v", err)
	}
	c.print("%s", data)
	return 0
}
