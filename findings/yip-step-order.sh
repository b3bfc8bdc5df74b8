#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  github.com/rancher/yip v1.9.6, which applies the cloud-config files of Elemental hosts
# Guess:     All steps of all files of a folder run, in the order of the files' names.
# Behaviour: * A step waits for those of the file directly before it. A file without a step for the stage ends that: those behind
#              it run together with the first ones.
#            * Steps are named by the "name" of their file and their own. Of three or more with the same names only the first and
#              the last one run, and there is no error. Files without a name are named by their path.
# Seen:      what expect compares below. Steps on one line run at the same time.
# Source:    pkg/executor/default.go of yip: dirOps takes the steps of the last file alone as dependencies. uniqueNames counts up for
#            the new name and not for the one that all have, so that the second and later steps get the same name.
# Here:      agent/osplugin/elemental/yip.go: files of the agent have no name, and run in a stage after that of others.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules github.com/rancher/yip@v1.9.6 github.com/sirupsen/logrus@v1.9.4 github.com/twpayne/go-vfs/v4@v4.3.0
go_run <<'GO'
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rancher/yip/pkg/executor"
	"github.com/rancher/yip/pkg/plugins"
	"github.com/sirupsen/logrus"
	"github.com/twpayne/go-vfs/v4"
)

// console notes the commands that would run.
type console struct{ ran []string }

func (c *console) Run(command string, _ ...func(*exec.Cmd)) (string, error) {
	c.ran = append(c.ran, command)
	return "", nil
}
func (c *console) Start(*exec.Cmd, ...func(*exec.Cmd)) error { return nil }
func (c *console) RunTemplate([]string, string) error        { return nil }

// folder writes files that are read in the order in which they are given.
func folder(name string, files ...string) string {
	check(os.Mkdir(name, 0o700))
	for i, content := range files {
		check(os.WriteFile(filepath.Join(name, fmt.Sprintf("%d.yaml", i+1)), []byte(content), 0o600))
	}
	return name
}

func engine() executor.Executor {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	return executor.NewExecutor(executor.WithLogger(logger), executor.WithPlugins(plugins.Commands))
}

// order shows which steps run when.
func order(of string) {
	layers, err := engine().Graph("boot", vfs.OSFS, nil, of)
	check(err)
	for _, layer := range layers {
		var steps []string
		for _, step := range layer {
			if step.Name != "init" {
				steps = append(steps, filepath.Base(step.Name))
			}
		}
		if slices.Sort(steps); len(steps) > 0 {
			fmt.Printf("%s: %s\n", of, strings.Join(steps, ", "))
		}
	}
}

// run shows the commands that run.
func run(of string) {
	shell := &console{}
	err := engine().Run("boot", vfs.OSFS, shell, of)
	fmt.Printf("%s: error %v, ran %v\n", of, err, shell.ran)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	step := func(stage, file, command string) string {
		return fmt.Sprintf("name: %s\nstages: {%s: [{name: step, commands: [%s]}]}\n", file, stage, command)
	}
	order(folder("all-have-steps", step("boot", "a", "first"), step("boot", "b", "second"), step("boot", "c", "third")))
	order(folder("one-has-none", step("boot", "a", "first"), step("network", "b", "other"), step("boot", "c", "third")))
	run(folder("two-of-one-name", step("boot", "a", "first"), step("boot", "a", "second")))
	run(folder("four-of-one-name", step("boot", "a", "first"), step("boot", "a", "second"), step("boot", "a", "third"), step("boot", "a", "fourth")))
}
GO
expect <<'SEEN'
all-have-steps: a.step
all-have-steps: b.step
all-have-steps: c.step
one-has-none: a.step, c.step
two-of-one-name: error <nil>, ran [first second]
four-of-one-name: error <nil>, ran [first fourth]
SEEN
