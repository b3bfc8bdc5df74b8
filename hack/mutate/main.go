// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	timeout := flag.Duration("timeout", 5*time.Minute, "how long the tests of a package may take; a change is noticed when they take longer")
	explained := flag.String("explained", "hack/mutate/explained.txt", "the changes that no test has to notice")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mutate [flags] FOLDER...   (from the module's root)")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := mutate(ctx, tester{root: ".", timeout: *timeout}, flag.Args(), *explained, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

// mutate tries every mutant of the folders, and fails if one survives that is not explained.
func mutate(ctx context.Context, tests tester, folders []string, explainedPath string, out io.Writer) error {
	explained, err := readExplained(explainedPath)
	if err != nil {
		return err
	}
	unexplained := 0
	for _, folder := range folders {
		if err := tests.passes(ctx, folder); err != nil {
			return err
		}
		found, err := mutantsIn(ctx, tests.root, folder)
		if err != nil {
			return err
		}
		count, err := tryAll(ctx, tests, found, explained, out)
		if err != nil {
			return err
		}
		unexplained += count[survived]
		fmt.Fprintf(out, "==> %s: %d changes: %d noticed, %d not compiled, %d explained, %d SURVIVED\n", folder, len(found),
			count[noticed], count[invalid], len(found)-count[noticed]-count[invalid]-count[survived], count[survived])
	}
	if unexplained > 0 {
		return fmt.Errorf("%d changes were noticed by no test: test them, remove what is dead, or explain them in %s", unexplained, explainedPath)
	}
	return nil
}

// tryAll counts what became of the mutants, without those that are explained.
func tryAll(ctx context.Context, tests tester, found []mutant, explained map[string]bool, out io.Writer) (map[outcome]int, error) {
	count := map[outcome]int{}
	for _, m := range found {
		if explained[m.key()] {
			continue
		}
		became, err := tests.try(ctx, m)
		if err != nil {
			return nil, err
		}
		if became == survived {
			fmt.Fprintln(out, m)
		}
		count[became]++
	}
	return count, nil
}

// mutantsIn reads the mutants of the files of a folder that are compiled here and are not tests.
func mutantsIn(ctx context.Context, root, folder string) ([]mutant, error) {
	command := exec.CommandContext(ctx, "go", "list", "-f", `{{join .GoFiles "\n"}}`, "./"+folder)
	command.Dir, command.Stderr = root, os.Stderr
	names, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w", folder, err)
	}
	var found []mutant
	for name := range strings.FieldsSeq(string(names)) {
		of, err := mutantsOf(root, filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		found = append(found, of...)
	}
	return found, nil
}
