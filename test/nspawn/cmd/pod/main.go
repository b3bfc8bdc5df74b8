// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pod is the only program in the images of Pods.
//
//	pod               waits for SIGTERM
//	pod stubborn      ignores SIGTERM
//	pod record FILE   waits for SIGTERM; appends its start and its end to a file, and prints what the file contains at the start
//	pod ready         exits with 0, as a probe
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := play(append(os.Args[1:], "", "")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(args []string) error {
	switch args[0] {
	case "ready":
		return nil
	case "record":
		return record(args[1])
	}
	await(args[0] == "stubborn")
	return nil
}

func await(forever bool) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	for range signals {
		if !forever {
			return
		}
	}
}

func record(file string) error {
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fmt.Printf("%s", before)
	if err := add(file, "started"); err != nil {
		return err
	}
	await(false)
	return add(file, "ended")
}

// add a line to a file, and write it to the disk.
func add(file, line string) error {
	opened, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(opened, line)
	return errors.Join(err, opened.Sync(), opened.Close())
}
