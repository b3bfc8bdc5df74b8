// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Directories of the user's checks.
const (
	RequiredDir = "/etc/elemental/agent/assess/required.d"
	WantedDir   = "/etc/elemental/agent/assess/wanted.d"
)

const (
	// CheckTimeout is how long one check may take.
	CheckTimeout = time.Minute
	// requiredTries is how often a required check is run before its failure counts.
	requiredTries = 3
	// betweenTries is how long to wait between them.
	betweenTries = 10 * time.Second
)

func userChecks(ctx context.Context, host *system.Host, before UnitStates, verdict *Verdict) error {
	if err := requiredChecks(ctx, host, before, verdict); err != nil {
		return err
	}
	wanted, err := runAll(ctx, host, programs{directory: WantedDir, tries: 1, timeout: CheckTimeout})
	for _, each := range wanted {
		verdict.Checks = append(verdict.Checks, each.check)
		if each.reason != "" {
			verdict.warn("wanted check " + each.failure())
		}
	}
	return err
}

func requiredChecks(ctx context.Context, host *system.Host, before UnitStates, verdict *Verdict) error {
	required, err := runAll(ctx, host, programs{directory: RequiredDir, tries: requiredTries, timeout: CheckTimeout})
	for _, each := range required {
		reason := "required check " + each.failure()
		switch {
		case each.reason == "":
		case isAmong(before.Failing, reason):
			each.check.Verdict = wire.CheckFailedBefore
			verdict.warn(excused + reason)
		default:
			verdict.add(Bad, reason)
		}
		verdict.Checks = append(verdict.Checks, each.check)
	}
	return err
}

// programs are the user's executables in a directory, and how they are run.
type programs struct {
	directory string
	tries     int
	// timeout of each try.
	timeout time.Duration
	// untilFailure stops after the first failure.
	untilFailure bool
}

// outcome of a program.
type outcome struct {
	file  string
	check wire.Check
	// reason of the failure, in one line; empty if it passed.
	reason string
}

func (o outcome) failure() string { return o.file + " failed: " + o.reason }

// runAll runs the executables of a directory by name. With an error it returns the outcomes so far.
func runAll(ctx context.Context, host *system.Host, run programs) ([]outcome, error) {
	entries, err := os.ReadDir(host.Path(run.directory))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", run.directory, err)
	}
	var outcomes []outcome
	for _, entry := range entries {
		path := filepath.Join(host.Path(run.directory), entry.Name())
		if !isExecutable(path) {
			continue
		}
		found, err := runOne(ctx, host, path, run)
		outcomes = append(outcomes, found)
		if err != nil || found.reason != "" && run.untilFailure {
			return outcomes, err
		}
	}
	return outcomes, nil
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func runOne(ctx context.Context, host *system.Host, path string, run programs) (outcome, error) {
	for try := 1; ; try++ {
		found := once(ctx, host, path, run.timeout)
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		if found.reason == "" || try == run.tries {
			return found, nil
		}
		if err := system.Wait(ctx, host.Clock, betweenTries); err != nil {
			return found, err
		}
	}
}

func once(ctx context.Context, host *system.Host, path string, timeout time.Duration) outcome {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	result, err := host.Runner.Run(bounded, system.Command{Name: path})
	found := outcome{file: filepath.Base(path)}
	found.check = wire.Check{Name: nameOf(path), Verdict: wire.CheckFailed, Since: second(host.Clock.Now())}
	switch {
	case ctx.Err() != nil:
		found.check.Verdict, found.reason = wire.CheckTimedOut, "not done when the time for all checks had expired"
	case errors.Is(err, context.DeadlineExceeded):
		found.check.Verdict, found.reason = wire.CheckTimedOut, fmt.Sprintf("not done after %s", timeout)
	case err != nil:
		found.reason = "it could not be started"
	case result.ExitCode == 0:
		found.check.Verdict, found.check.ExitCode = wire.CheckPassed, new(int32)
		return found
	default:
		found.reason = reasonOf(result)
	}
	if result.ExitCode > 0 { // not ended by a signal
		code := int32(result.ExitCode)
		found.check.ExitCode = &code
	}
	found.check.Output = output(result, found.reason)
	return found
}

// reasonOf a failure is the last line that the program printed.
func reasonOf(result system.Result) string {
	for _, said := range []string{result.Stderr, result.Stdout} {
		if line := system.LastLine(said); line != "" {
			return line
		}
	}
	return fmt.Sprintf("exit code %d", result.ExitCode)
}
