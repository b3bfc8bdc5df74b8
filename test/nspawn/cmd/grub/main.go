// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command grub makes GRUB's choice for a host: it prints the mode, the snapshot and the kernel's command line of the boot. Its arguments are GRUB's two
// environment blocks, and the state partition.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
)

func main() {
	if err := choose(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func choose(args []string) error {
	oem, err := grub.Read(args[0])
	if err != nil {
		return err
	}
	saved, err := grub.Read(args[1])
	if err != nil {
		return err
	}
	image := func(e grub.Entry) string {
		if e.Mode == grub.Active {
			return filepath.Join(args[2], ".snapshots", "active")
		}
		return filepath.Join(args[2], ".snapshots", strconv.Itoa(e.Snapshot), "snapshot.img")
	}
	choice, found := grub.Boot(oem, saved, func(e grub.Entry) bool {
		_, err := os.Stat(image(e))
		return err == nil && e.Mode != grub.Recovery
	})
	if err := saved.Write(args[1]); err != nil || !found {
		return fmt.Errorf("nothing to boot: %w", err)
	}
	chosen, err := filepath.EvalSymlinks(image(choice.Entry))
	if err != nil {
		return err
	}
	words := []string{choice.Mode, filepath.Base(filepath.Dir(chosen)), "root=LABEL=COS_STATE", "elemental.mode=" + choice.Mode}
	if choice.Mode == grub.Passive {
		words = append(words, "elemental.image="+strings.TrimPrefix(image(choice.Entry), args[2]))
	}
	if choice.HealthCheck {
		words = append(words, "elemental.health_check")
	}
	fmt.Println(strings.Join(words, " "))
	return nil
}
