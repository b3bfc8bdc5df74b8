// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// outcome is what became of a mutant.
type outcome int

const (
	survived outcome = iota
	noticed          // by a test, or by tests that did not end any more
	invalid          // it does not compile
)

// attempt tries a mutant.
type attempt func(ctx context.Context, m mutant) (outcome, error)

// tester runs the tests of a package with one of its changes.
type tester struct {
	root     string        // of the module
	timeout  time.Duration // for one run
	parallel int           // runs at a time
}

// prepare compiles the tests once, with a switch for each mutant. Where that cannot be compiled, they are compiled for each.
func (t tester) prepare(ctx context.Context, s *source, scratch string, out io.Writer) (attempt, error) {
	each := func(ctx context.Context, m mutant) (outcome, error) { return t.try(ctx, s, m) }
	binary, output, err := t.compileSwitched(ctx, s, scratch)
	if err != nil {
		fmt.Fprintf(out, "%s cannot be switched (%v):\n%s", s.folder, err, output)
		return each, t.passes(ctx, s.folder)
	}
	began := time.Now()
	if output, err := t.runSwitched(ctx, s.folder, binary, 0); err != nil {
		return nil, failsUnchanged(s.folder, output, err)
	}
	t.timeout = min(t.timeout, 10*time.Since(began)+10*time.Second) // many changes make a loop endless
	return func(ctx context.Context, m mutant) (outcome, error) {
		if !m.compiles || !m.switched {
			return each(ctx, m)
		}
		_, err := t.runSwitched(ctx, s.folder, binary, m.id)
		return became(ctx, err)
	}, nil
}

func (t tester) compileSwitched(ctx context.Context, s *source, scratch string) (binary string, output []byte, err error) {
	files := maps.Clone(s.switched)
	files[filepath.Join(s.folder, "mutant_switch.go")] = fmt.Appendf(nil, switchSource, s.name)
	overlay, err := t.overlay(scratch, files)
	if err != nil {
		return "", nil, err
	}
	binary = filepath.Join(scratch, "switched.test")
	command := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "-overlay", overlay, "./"+s.folder)
	command.Dir = t.root
	output, err = command.CombinedOutput()
	return binary, output, err
}

// runSwitched runs the tests as "go test" does, and ends what they leave.
func (t tester) runSwitched(ctx context.Context, folder, binary string, id int) ([]byte, error) {
	run := fmt.Sprintf("MUTATE_RUN=%d-%d", os.Getpid(), id)
	defer endLeft(run)
	command := exec.CommandContext(ctx, binary, "-test.paniconexit0", "-test.timeout", t.timeout.String(), "-ginkgo.fail-fast")
	command.Dir = filepath.Join(t.root, folder)
	command.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(id), run)
	command.WaitDelay = time.Second // what they leave may hold their output
	return command.CombinedOutput()
}

func became(ctx context.Context, err error) (outcome, error) {
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err == nil:
		return survived, nil
	case errors.As(err, &failed):
		return noticed, nil
	default:
		return 0, err
	}
}

// try compiles the tests with the mutant.
func (t tester) try(ctx context.Context, s *source, m mutant) (outcome, error) {
	if !m.compiles {
		return invalid, nil
	}
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	overlay, err := t.overlay(scratch, map[string][]byte{m.file: m.apply(s.contents[m.file])})
	if err != nil {
		return 0, err
	}
	output, err := t.run(ctx, s.folder, "-overlay", overlay)
	if err != nil && bytes.Contains(output, []byte("[build failed]")) {
		return invalid, nil
	}
	return became(ctx, err)
}

// overlay tells the compiler which files to read instead.
func (t tester) overlay(scratch string, files map[string][]byte) (string, error) {
	replaced := map[string]string{}
	for path, content := range files {
		original, err := filepath.Abs(filepath.Join(t.root, path))
		if err != nil {
			return "", err
		}
		replaced[original] = filepath.Join(scratch, filepath.Base(path))
		if err := os.WriteFile(replaced[original], content, 0o600); err != nil {
			return "", err
		}
	}
	encoded, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	path := filepath.Join(scratch, "overlay.json")
	return path, os.WriteFile(path, encoded, 0o600)
}

// passes says why a package cannot be looked at: its tests fail as it is.
func (t tester) passes(ctx context.Context, folder string) error {
	if output, err := t.run(ctx, folder); err != nil {
		return failsUnchanged(folder, output, err)
	}
	return nil
}

func failsUnchanged(folder string, output []byte, err error) error {
	return fmt.Errorf("the tests of %s fail without a change: %w\n%s", folder, err, output)
}

func (t tester) run(ctx context.Context, folder string, flags ...string) ([]byte, error) {
	arguments := append([]string{"test", "-count=1", "-vet=off", "-timeout", t.timeout.String()}, flags...)
	command := exec.CommandContext(ctx, "go", append(arguments, "./"+folder, "-ginkgo.fail-fast")...)
	command.Dir = t.root
	return command.CombinedOutput()
}
