// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// outcome is what became of a mutant.
type outcome int

const (
	survived outcome = iota
	noticed          // by a test, or by tests that did not end any more
	invalid          // it does not compile
)

// tester runs the tests of a package with one file changed.
type tester struct {
	root    string        // of the module
	timeout time.Duration // for one run
}

func (t tester) try(ctx context.Context, m mutant) (outcome, error) {
	folder, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	overlay, err := t.overlay(folder, m)
	if err != nil {
		return 0, err
	}
	output, err := t.run(ctx, filepath.Dir(m.file), "-overlay", overlay)
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err == nil:
		return survived, nil
	case !errors.As(err, &failed):
		return 0, err
	case bytes.Contains(output, []byte("[build failed]")):
		return invalid, nil
	default:
		return noticed, nil
	}
}

// overlay tells the compiler which file to read instead.
func (t tester) overlay(folder string, m mutant) (string, error) {
	original, err := filepath.Abs(filepath.Join(t.root, m.file))
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(folder, filepath.Base(m.file))
	if err := os.WriteFile(changed, m.apply(content), 0o600); err != nil {
		return "", err
	}
	encoded, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, encoded, 0o600)
}

// passes says why a package cannot be looked at: its tests fail as it is.
func (t tester) passes(ctx context.Context, folder string) error {
	if output, err := t.run(ctx, folder); err != nil {
		return fmt.Errorf("the tests of %s fail without a change: %w\n%s", folder, err, output)
	}
	return nil
}

func (t tester) run(ctx context.Context, folder string, flags ...string) ([]byte, error) {
	arguments := append([]string{"test", "-count=1", "-vet=off", "-timeout", t.timeout.String()}, flags...)
	command := exec.CommandContext(ctx, "go", append(arguments, "./"+folder, "-ginkgo.fail-fast")...)
	command.Dir = t.root
	return command.CombinedOutput()
}
