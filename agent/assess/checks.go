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

func userChecks(ctx context.Context, host *system.Host, verdict *Verdict) error {
	failures, err := runAll(ctx, host, programs{directory: RequiredDir, tries: requiredTries, timeout: CheckTimeout})
	if err != nil {
		return err
	}
	for _, failure := range failures {
		verdict.add(Bad, "required check "+failure)
	}
	warnings, err := runAll(ctx, host, programs{directory: WantedDir, tries: 1, timeout: CheckTimeout})
	for _, warning := range warnings {
		verdict.Warnings = append(verdict.Warnings, "wanted check "+warning)
	}
	return err
}

// programs are the user's executables in a directory, and how they are run.
type programs struct {
	directory string
	tries     int
	// timeout of each try.
	timeout time.Duration
	// untilFailure leaves out those after the first that fails.
	untilFailure bool
}

// runAll runs the executables of a directory by name and says which failed, and why.
func runAll(ctx context.Context, host *system.Host, run programs) ([]string, error) {
	entries, err := os.ReadDir(host.Path(run.directory))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", run.directory, err)
	}
	var failures []string
	for _, entry := range entries {
		path := filepath.Join(host.Path(run.directory), entry.Name())
		if !isExecutable(path) {
			continue
		}
		reason, err := runOne(ctx, host, path, run)
		if err != nil {
			return nil, err
		}
		if reason != "" {
			failures = append(failures, entry.Name()+" failed: "+reason)
		}
		if reason != "" && run.untilFailure {
			break
		}
	}
	return failures, nil
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func runOne(ctx context.Context, host *system.Host, path string, run programs) (reason string, err error) {
	for try := 1; ; try++ {
		reason = once(ctx, host, path, run.timeout)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if reason == "" || try == run.tries {
			return reason, nil
		}
		if err := system.Wait(ctx, host.Clock, betweenTries); err != nil {
			return "", err
		}
	}
}

func once(ctx context.Context, host *system.Host, path string, timeout time.Duration) string {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	result, err := host.Runner.Run(bounded, system.Command{Name: path})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("not done after %s", timeout)
	case err != nil:
		return "it could not be started"
	case result.ExitCode == 0:
		return ""
	}
	if said := system.LastLine(result.Stderr); said != "" {
		return said
	}
	if said := system.LastLine(result.Stdout); said != "" {
		return said
	}
	return fmt.Sprintf("exit code %d", result.ExitCode)
}
