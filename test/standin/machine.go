// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/cli"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
)

// Machine is the one that this process runs on.
type Machine struct {
	log *logrus.Logger
	// partitions are those that were found at the start, with where they were mounted then.
	partitions map[string]partition
}

var _ cli.Host = (*Machine)(nil)

// New finds the partitions of this machine.
func New(log *logrus.Logger) *Machine { return &Machine{log: log, partitions: findPartitions()} }

// InRecovery implements install.Host.
func (*Machine) InRecovery() bool { return exists("/run/elemental/recovery_mode") }

// Path implements install.Host.
func (*Machine) Path(parts ...string) string {
	return filepath.Join(append([]string{"/"}, parts...)...)
}

// HostPath implements install.Host.
func (*Machine) HostPath(path string) string { return path }

// PowerOff implements cli.Host.
func (m *Machine) PowerOff() error { return m.run("poweroff", "-f") }

// Reboot implements cli.Host.
func (m *Machine) Reboot() error { return m.run("reboot", "-f") }

// run runs a command. Its output is only in the debug log, and its error tells only how it ended.
func (m *Machine) run(command string, args ...string) error {
	_, err := m.output(command, args...)
	return err
}

func (m *Machine) output(command string, args ...string) (string, error) {
	m.log.Debugf("Running cmd: '%s %s'", command, strings.Join(args, " "))
	said, err := exec.Command(command, args...).CombinedOutput()
	if err != nil {
		m.log.Debugf("'%s' command reported an error: %v", command, err)
		m.log.Debugf("'%s' command output: %s", command, said)
	}
	return strings.TrimSpace(string(said)), err
}

// Chroot implements install.Host. The whole process has another root directory meanwhile. Everything is written to the disks before what is
// mounted there is unmounted.
func (m *Machine) Chroot(target string, do func() error) (err error) {
	defer func() { err = errors.Join(err, m.run("sync")) }()
	root, err := os.Open("/")
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := errors.Join(os.Chdir(target), unix.Chroot(target)); err != nil {
		return fmt.Errorf("changing the root directory: %w", err)
	}
	err = do()
	return errors.Join(err, root.Chdir(), unix.Chroot("."))
}

// RunStage implements install.Host.
func (m *Machine) RunStage(ctx context.Context, stage string, directories []string) error {
	return runStage(ctx, m.log, stage, directories)
}

// SetVariables implements install.Host. Each variable is written by itself.
func (m *Machine) SetVariables(file string, pairs ...string) error {
	command := "grub2-editenv"
	if _, err := exec.LookPath(command); err != nil {
		command = "grub-editenv"
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := m.run(command, file, "set", pairs[i]+"="+pairs[i+1]); err != nil {
			m.log.Error("Failed setting grub variables")
			return err
		}
	}
	return nil
}

// efiDirectories are those of the EFI partition that have the boot loader; the firmware finds the first by itself.
var efiDirectories = []string{"EFI/BOOT", "EFI/ELEMENTAL"}

// InstallBootloader implements install.Host.
func (m *Machine) InstallBootloader(tree string) error {
	files := map[string]string{"grub.cfg": filepath.Join(tree, "etc/elemental/grub.cfg")}
	for name, patterns := range map[string][]string{
		"shim": {"/usr/lib/elemental/bootloader/shim*", "/usr/share/efi/*/shim.efi", "/boot/efi/EFI/*/shim*.efi"},
		"grub": {"/usr/lib/elemental/bootloader/grub*", "/usr/share/grub2/*-efi/grub.efi", "/boot/efi/EFI/*/grub*.efi"},
		"mok":  {"/usr/lib/elemental/bootloader/mm*", "/boot/efi/EFI/*/mm*.efi", "/usr/share/efi/*/MokManager.efi"},
	} {
		found, err := findFile(tree, patterns...)
		if err != nil {
			m.log.Errorf("failed to find %s image", name)
			return err
		}
		files[filepath.Base(found)] = found
	}
	for _, module := range []string{"loopback.mod", "squash4.mod", "xzio.mod"} {
		found, err := findFile(tree, "/boot/grub2/*-efi/"+module, "/usr/share/grub*/*-efi/"+module, "/usr/lib/grub*/*-efi/"+module)
		if err != nil {
			return err
		}
		files["x86_64-efi/"+module] = found
	}
	for _, dir := range efiDirectories {
		for name, file := range files {
			if dir == efiDirectories[0] && strings.HasPrefix(name, "shim") {
				name = "bootx64.efi"
			}
			if err := copyFile(file, m.File(disk.LabelEFI, dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
