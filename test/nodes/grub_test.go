// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
)

// grubName is the name under which the test binary makes GRUB's choice.
const grubName = "nodes-grub"

// choose prints the mode, the snapshot and the kernel's command line of the boot that GRUB chooses. The arguments are its two blocks of
// variables and the state partition.
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
