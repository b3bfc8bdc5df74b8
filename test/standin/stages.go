// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/rancher/yip/pkg/executor"
	"github.com/rancher/yip/pkg/plugins"
	"github.com/sirupsen/logrus"
	"github.com/twpayne/go-vfs/v4"
)

// setups are the words of the kernel's command line that name a further directory with cloud-init files.
var setups = []string{"elemental.setup=", "cos.setup="}

// runStage runs the cloud-init files of a stage, those of what comes before, and those of what comes after it.
// Source: elemental-toolkit v2.3.2, pkg/cloudinit and utils.RunStage.
func runStage(ctx context.Context, log *logrus.Logger, stage string, directories []string) error {
	line, err := os.ReadFile("/proc/cmdline")
	errs := err
	for word := range strings.FieldsSeq(string(line)) {
		for _, setup := range setups {
			if value, found := strings.CutPrefix(word, setup); found {
				directories = append(directories, value)
			}
		}
	}
	engine := executor.NewExecutor(
		executor.WithLogger(log),
		executor.WithConditionals(plugins.NodeConditional, plugins.IfConditional),
		executor.WithPlugins(
			plugins.DNS, plugins.Download, plugins.Entities, plugins.EnsureDirectories, plugins.EnsureFiles, plugins.Commands, plugins.DeleteEntities,
			plugins.Hostname, plugins.Sysctl, plugins.User, plugins.SSH, plugins.Timesyncd, plugins.Systemctl, plugins.Environment,
			plugins.SystemdFirstboot, plugins.DataSources,
		),
	)
	for _, name := range []string{stage + ".before", stage, stage + ".after"} {
		var there []string // a stage may make the directories of the next
		for _, each := range directories {
			if exists(each) {
				there = append(there, each)
			}
		}
		errs = errors.Join(errs, engine.Run(name, vfs.OSFS, console{ctx: ctx, log: log}, there...))
	}
	return errs
}

// console runs the commands of the engine.
type console struct {
	ctx context.Context
	log *logrus.Logger
}

var _ plugins.Console = console{}

// Run implements plugins.Console.
func (c console) Run(line string, options ...func(*exec.Cmd)) (string, error) {
	c.log.Debugf("running command `%s`", line)
	command := exec.CommandContext(c.ctx, "sh", "-c", line)
	for _, option := range options {
		option(command)
	}
	said, err := command.CombinedOutput()
	if err != nil {
		return string(said), fmt.Errorf("failed to run %s: %w", line, err)
	}
	return string(said), nil
}

// Start implements plugins.Console.
func (c console) Start(command *exec.Cmd, options ...func(*exec.Cmd)) error {
	c.log.Debugf("running command `%s`", command)
	for _, option := range options {
		option(command)
	}
	return command.Run()
}

// RunTemplate implements plugins.Console.
func (c console) RunTemplate(names []string, template string) error {
	var errs error
	for _, name := range names {
		said, err := c.Run(fmt.Sprintf(template, name))
		if err != nil {
			c.log.Error(said)
			c.log.Error(err.Error())
			errs = errors.Join(errs, err)
		}
	}
	return errs
}
