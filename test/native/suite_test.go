// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// grubName is the name under which the test binary makes GRUB's choice.
const grubName = "native-grub"

// Commands of the machine's operating system, in Debian's packages of docs/testing.md; neededForBtrfs by the specs that need the real CLI.
var (
	needed         = []string{"bash", "blkid", "debugfs", "dumpe2fs", "fallocate", "findmnt", "grub-editenv", "losetup", "mke2fs", "mksquashfs", "nsenter", "pivot_root", "rsync", "unshare"}
	neededForBtrfs = []string{"btrfs", "dbus-daemon", "mkfs.btrfs", "snapper"}
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == grubName {
		if err := choose(os.Args[1], os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if filepath.Base(os.Args[0]) == kubeletName {
		fmt.Fprintln(os.Stderr, playKubelet(os.Args[1:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// choose prints the mode, the snapshot and the kernel's command line of the boot that GRUB chooses.
func choose(oemEnv, env, state string) error {
	oem, err := grub.Read(oemEnv)
	if err != nil {
		return err
	}
	saved, err := grub.Read(env)
	if err != nil {
		return err
	}
	if oem.Get("snapshotter") == "btrfs" {
		return chooseSubvolume(oem, saved, env, state)
	}
	image := func(e grub.Entry) string {
		if e.Mode == grub.Active {
			return filepath.Join(state, ".snapshots", "active")
		}
		return filepath.Join(state, ".snapshots", fmt.Sprint(e.Snapshot), "snapshot.img")
	}
	choice, found := grub.Boot(oem, saved, func(e grub.Entry) bool {
		_, err := os.Stat(image(e))
		return err == nil || e.Mode == grub.Recovery
	})
	if err := saved.Write(env); err != nil || !found {
		return fmt.Errorf("nothing to boot: %w", err)
	}
	if choice.Mode == grub.Recovery {
		return boot(choice, "", "")
	}
	chosen, err := filepath.EvalSymlinks(image(choice.Entry))
	if err != nil {
		return err
	}
	return boot(choice, filepath.Base(filepath.Dir(chosen)), strings.TrimPrefix(image(choice.Entry), state))
}

// chooseSubvolume is choose for snapshots that are subvolumes. GRUB finds the kernel of the default entry by its
// variable, and the root file system is the default subvolume: they must be of the same snapshot.
func chooseSubvolume(oem, saved *grub.Env, env, state string) error {
	said, err := exec.Command("btrfs", "subvolume", "get-default", state).Output()
	match := defaultSubvolume.FindSubmatch(said)
	if err != nil || match == nil {
		return fmt.Errorf("the default subvolume is no snapshot: %q %w", said, err)
	}
	id := func(e grub.Entry) string {
		if e.Mode == grub.Active {
			return string(match[1])
		}
		return fmt.Sprint(e.Snapshot)
	}
	choice, found := grub.Boot(oem, saved, func(e grub.Entry) bool {
		if e.Mode == grub.Active && oem.Get("active_snap") != id(e) {
			return false
		}
		_, err := os.Stat(filepath.Join(state, ".snapshots", id(e), "snapshot"))
		return err == nil || e.Mode == grub.Recovery
	})
	if err := saved.Write(env); err != nil || !found {
		return fmt.Errorf("nothing to boot: %w", err)
	}
	return boot(choice, id(choice.Entry), "@/.snapshots/"+id(choice.Entry)+"/snapshot")
}

// boot prints the choice.
func boot(choice grub.Choice, snapshot, image string) error {
	if choice.Mode == grub.Recovery {
		fmt.Println(grub.Recovery, 0, "root=LABEL=COS_RECOVERY elemental.mode=recovery elemental.image=/boot/recovery.img")
		return nil
	}
	words := []string{choice.Mode, snapshot, "root=LABEL=COS_STATE", "elemental.mode=" + choice.Mode}
	if choice.Mode == grub.Passive {
		words = append(words, "elemental.image="+image)
	}
	if choice.HealthCheck {
		words = append(words, "elemental.health_check")
	}
	fmt.Println(strings.Join(words, " "))
	return nil
}

func TestNative(t *testing.T) {
	specs.Run(t, "Agent on real partitions")
}

// programs of the machines: the CLI and the agent.
var programs struct{ elemental, agent string }

var _ = BeforeSuite(func() {
	if missing := missingHere(); missing != "" {
		Skip("the suite on the elemental CLI is skipped: " + missing)
	}
	root := specs.Root()
	programs.elemental = osimage.CLI(root)
	programs.agent = filepath.Join(root, "bin", "elemental-agent")
	Expect(programs.agent).To(BeARegularFile(), "run make build")
	osimage.LockCLI()
	prepareTrees()
})

// missingHere describes what this machine lacks.
func missingHere() string {
	if os.Getuid() != 0 {
		return "it needs root, for mounts, loop devices and namespaces"
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return "there are no loop devices: " + err.Error()
	}
	commands := needed
	if osimage.HasRealCLI() {
		commands = append(slices.Clone(needed), neededForBtrfs...)
	}
	for _, name := range commands {
		if _, err := exec.LookPath(name); err != nil {
			return err.Error() + "; see docs/testing.md for Debian's packages"
		}
	}
	return ""
}
