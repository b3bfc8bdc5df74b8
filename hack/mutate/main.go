// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// memory bounds each process, in bytes: a loop that a change has made endless may collect things.
const memory = 4 << 30

func main() {
	timeout := flag.Duration("timeout", 5*time.Minute, "how long the tests of a package may take; a change is noticed when they take longer, or ten times as long as without it")
	parallel := flag.Int("parallel", 2, "how many changes are tried at a time")
	explained := flag.String("explained", "hack/mutate/explained.txt", "the changes that no test has to notice")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mutate [flags] FOLDER...   (from the module's root)")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: memory, Max: memory}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := mutate(ctx, tester{root: ".", timeout: *timeout, parallel: *parallel}, flag.Args(), *explained, os.Stdout); err != nil {
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
		survivors, err := mutateOne(ctx, tests, folder, explained, out)
		if err != nil {
			return err
		}
		unexplained += survivors
	}
	if unexplained > 0 {
		return fmt.Errorf("%d changes were noticed by no test: test them, remove what is dead, or explain them in %s", unexplained, explainedPath)
	}
	return nil
}

// mutateOne returns how many mutants of a folder survive that are not explained.
func mutateOne(ctx context.Context, tests tester, folder string, explained explanations, out io.Writer) (int, error) {
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	read, err := readPackage(ctx, tests.root, folder)
	if err != nil {
		return 0, err
	}
	if err := explained.check(folder, read.mutants); err != nil {
		return 0, err
	}
	try, err := tests.prepare(ctx, read, scratch, out)
	if err != nil {
		return 0, err
	}
	count, err := tryAll(ctx, try, tests.parallel, read.mutants, explained, out)
	if err != nil {
		return 0, err
	}
	of := len(read.mutants)
	fmt.Fprintf(out, "==> %s: %d changes: %d noticed, %d not compiled, %d explained, %d SURVIVED\n", folder, of,
		count[noticed], count[invalid], of-count[noticed]-count[invalid]-count[survived], count[survived])
	return count[survived], nil
}

// tryAll counts what became of the mutants, without those that are explained.
func tryAll(ctx context.Context, try attempt, parallel int, found []mutant, explained explanations, out io.Writer) (map[outcome]int, error) {
	var lock sync.Mutex
	count := map[outcome]int{}
	tries, ctx := errgroup.WithContext(ctx)
	tries.SetLimit(parallel)
	for _, m := range found {
		if explained.has(m) {
			continue
		}
		tries.Go(func() error {
			became, err := try(ctx, m)
			lock.Lock()
			defer lock.Unlock()
			if err == nil && became == survived {
				fmt.Fprintln(out, m)
			}
			count[became]++
			return err
		})
	}
	return count, tries.Wait()
}
