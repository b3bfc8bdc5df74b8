// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudinit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"

	"github.com/rancher/yip/pkg/executor"
	"github.com/rancher/yip/pkg/plugins"
	"github.com/sirupsen/logrus"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
)

// Stages are those that the toolkit runs in a boot, in order.
var Stages = []string{"pre-rootfs", "rootfs", "initramfs", "fs", "boot", "network"}

// Command runs with its arguments, the first of which is its name, and returns an exit code.
type Command func(ctx context.Context, argv []string, stdout io.Writer) int

// Runner runs the files in /oem of a host.
type Runner struct {
	Disk disk.Disk
	// Commands that the host has besides those that change files.
	Commands map[string]Command
	// Sh runs a command line of a file and returns what it printed. Default: Shell does.
	Sh func(ctx context.Context, line string) (string, error)
	// Log receives what the engine says, and the commands and their errors.
	Log io.Writer
}

// Run runs all stages of a boot. Errors are logged and do not stop it. It returns the stages with errors: with --strict, as the toolkit's
// units run them, their units fail.
func (r *Runner) Run(ctx context.Context) (failed []string) {
	for _, stage := range Stages {
		succeeds := true
		for _, name := range []string{stage + ".before", stage, stage + ".after"} {
			succeeds = r.stage(ctx, name) && succeeds
		}
		if !succeeds {
			failed = append(failed, stage)
		}
	}
	return failed
}

// stage runs the engine as the toolkit does, with the plugins in its order.
// Source: elemental-toolkit v2.3.2, pkg/cloudinit.
func (r *Runner) stage(ctx context.Context, name string) (succeeds bool) {
	root := newRootFS(r.Disk)
	if _, err := root.Stat(disk.OEMDir); err != nil {
		return true
	}
	log := logrus.New()
	log.SetOutput(r.Log)
	log.SetFormatter(&logrus.TextFormatter{DisableColors: true, DisableTimestamp: true, DisableQuote: true})
	engine := executor.NewExecutor(
		executor.WithLogger(log),
		executor.WithConditionals(plugins.NodeConditional, plugins.IfConditional),
		executor.WithPlugins(
			notPlayed, plugins.EnsureDirectories, plugins.EnsureFiles, plugins.Commands,
			hostname, plugins.Sysctl, users, plugins.Systemctl,
		),
	)
	return r.check(engine.Run(name, root, &console{runner: r, ctx: ctx}, disk.OEMDir))
}

func (r *Runner) logf(format string, args ...any) { _, _ = fmt.Fprintf(r.Log, format+"\n", args...) }

func (r *Runner) check(err error) (succeeds bool) {
	if err != nil {
		r.logf("error: %v", err)
	}
	return err == nil
}

// console runs the commands of the engine on the host.
type console struct {
	runner *Runner
	ctx    context.Context
}

var _ plugins.Console = (*console)(nil)

// Run implements plugins.Console. When the power is cut no command runs any more.
func (c *console) Run(line string, _ ...func(*exec.Cmd)) (string, error) {
	if err := c.ctx.Err(); err != nil {
		return "", err
	}
	if c.runner.Sh != nil {
		return c.runner.Sh(c.ctx, line)
	}
	if rc := c.runner.Shell(c.ctx, line); rc != 0 {
		return "", fmt.Errorf("exit code %d: %s", rc, line)
	}
	return "", nil
}

// Start implements plugins.Console.
func (*console) Start(cmd *exec.Cmd, _ ...func(*exec.Cmd)) error {
	return fmt.Errorf("a host of the lab does not run %s", cmd)
}

// RunTemplate implements plugins.Console.
func (c *console) RunTemplate(names []string, template string) error {
	var failed bytes.Buffer
	for _, name := range names {
		if _, err := c.Run(fmt.Sprintf(template, name)); err != nil {
			_, _ = fmt.Fprintln(&failed, err)
		}
	}
	if failed.Len() > 0 {
		return fmt.Errorf("%s", failed.String())
	}
	return nil
}
