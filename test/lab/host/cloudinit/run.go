// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudinit

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

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
	// Log receives the commands and their errors.
	Log io.Writer
}

// Run runs all stages of a boot. Errors are logged and do not stop it, as in yip. It returns the stages with errors: with --strict, as the
// toolkit's units run them, their units fail.
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

func (r *Runner) logf(format string, args ...any) { _, _ = fmt.Fprintf(r.Log, format+"\n", args...) }

// stage rereads the files, because the previous stage may have added and removed some.
func (r *Runner) stage(ctx context.Context, name string) (succeeds bool) {
	succeeds = true
	files, _ := filepath.Glob(r.Disk.Path(disk.OEMDir, "*.y*ml"))
	slices.Sort(files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		config, err := Load(data)
		if err != nil {
			r.logf("%s: %v", filepath.Base(file), err)
			succeeds = false
			continue
		}
		for _, stage := range config.Stages[name] {
			if ctx.Err() != nil {
				return succeeds
			}
			r.logf("%s: stage %s %s", filepath.Base(file), name, stage.Name)
			succeeds = r.apply(ctx, stage) && succeeds
		}
	}
	return succeeds
}

func (r *Runner) apply(ctx context.Context, s Stage) (succeeds bool) {
	if s.If != "" && r.Shell(ctx, s.If) != 0 {
		return true
	}
	succeeds = true
	if s.Hostname != "" {
		succeeds = r.check(r.Disk.WriteFile("/etc/hostname", []byte(s.Hostname+"\n")))
	}
	for _, f := range s.Files {
		succeeds = r.check(r.write(f)) && succeeds
	}
	for _, c := range s.Commands {
		if rc := r.Shell(ctx, c); rc != 0 {
			r.logf("exit code %d: %s", rc, c)
			succeeds = false
		}
	}
	return succeeds
}

func (r *Runner) check(err error) (succeeds bool) {
	if err != nil {
		r.logf("error: %v", err)
	}
	return err == nil
}

func (r *Runner) write(f File) error {
	data, err := f.decoded()
	if err != nil {
		return fmt.Errorf("writing %s: %w", f.Path, err)
	}
	path := r.Disk.HostPath(f.Path)
	if err := r.Disk.WriteFile(path, data); err != nil {
		return err
	}
	if f.Permissions == 0 {
		return nil
	}
	return os.Chmod(r.Disk.Path(path), os.FileMode(f.Permissions).Perm())
}
