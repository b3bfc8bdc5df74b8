// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudinit

import (
	"bytes"
	"context"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// command finds a command by the base name of its first word.
func (r *Runner) command(ctx context.Context, argv []string, out *bytes.Buffer) int {
	name := path.Base(argv[0])
	if f, ok := r.Commands[name]; ok {
		argv = slices.Clone(argv)
		argv[0] = name
		return f(ctx, argv, out)
	}
	if f, ok := r.builtins()[name]; ok {
		return f(argv[1:], out)
	}
	if name == "sh" && len(argv) == 2 {
		return r.script(ctx, argv[1])
	}
	r.logf("%s: command not found on a lab host", argv[0])
	return exitNotFound
}

func (r *Runner) builtins() map[string]func(args []string, out io.Writer) int {
	return map[string]func(args []string, out io.Writer) int{
		"true":  func([]string, io.Writer) int { return 0 },
		"false": func([]string, io.Writer) int { return 1 },
		"sync":  func([]string, io.Writer) int { return 0 },
		"umask": func([]string, io.Writer) int { return 0 },
		"echo":  r.echo,
		"rm":    r.rm,
		"mkdir": r.mkdir,
		"touch": r.touch,
		"[":     r.test,
		"test":  r.test,
	}
}

// script runs the lines of a file.
func (r *Runner) script(ctx context.Context, path string) int {
	text, err := os.ReadFile(r.Disk.Path(r.Disk.HostPath(path)))
	if err != nil {
		r.logf("sh: %v", err)
		return exitNotFound
	}
	return r.Shell(ctx, string(text))
}

// paths are the arguments that are not flags, mapped to the host's root.
func (r *Runner) paths(args []string) []string {
	var paths []string
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			paths = append(paths, r.Disk.Path(r.Disk.HostPath(a)))
		}
	}
	return paths
}

func (r *Runner) echo(args []string, out io.Writer) int {
	text := strings.Join(args, " ") + "\n"
	if len(args) > 0 && args[0] == "-n" {
		text = strings.Join(args[1:], " ")
	}
	_, err := io.WriteString(out, text)
	return code(err)
}

func (r *Runner) rm(args []string, _ io.Writer) int {
	force := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") && strings.Contains(a, "f") })
	rc := 0
	for _, p := range r.paths(args) {
		if _, err := os.Lstat(p); err != nil && !force {
			rc = 1
		}
		rc = max(rc, code(os.RemoveAll(p)))
	}
	return rc
}

func (r *Runner) mkdir(args []string, _ io.Writer) int {
	rc := 0
	for _, p := range r.paths(args) {
		rc = max(rc, code(os.MkdirAll(p, 0o755)))
	}
	return rc
}

func (r *Runner) touch(args []string, _ io.Writer) int {
	rc := 0
	for _, p := range r.paths(args) {
		f, err := os.OpenFile(p, os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			err = f.Close()
		}
		rc = max(rc, code(err))
	}
	return rc
}

// test simulates [ ! -f PATH ] with -e, -f and -d.
func (r *Runner) test(args []string, _ io.Writer) int {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "]" })
	negate := len(args) > 0 && args[0] == "!"
	if negate {
		args = args[1:]
	}
	if len(args) != 2 {
		r.logf("test: cannot tell: %s", strings.Join(args, " "))
		return exitSyntax
	}
	info, err := os.Stat(r.Disk.Path(r.Disk.HostPath(args[1])))
	holds := err == nil
	switch args[0] {
	case "-f":
		holds = holds && info.Mode().IsRegular()
	case "-d":
		holds = holds && info.IsDir()
	case "-e":
	default:
		return exitSyntax
	}
	if holds != negate {
		return 0
	}
	return 1
}

func code(err error) int {
	if err != nil {
		return 1
	}
	return 0
}
