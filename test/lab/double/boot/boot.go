// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
)

// ErrNothingToBoot means that GRUB could not load any entry and waits at its prompt.
var ErrNothingToBoot = errors.New("nothing to boot")

// System that GRUB loaded.
type System struct {
	grub.Choice
	// Snapshot that is booted; 0 for the recovery system.
	Snapshot int
	Image    source.Image
	// Corrupt reports whether the image is truncated.
	Corrupt bool
}

// Next runs GRUB: it chooses what to boot, and updates grubenv.
func Next(d disk.Disk) (System, error) {
	oem, err := grub.Read(d.GrubOEMEnv())
	if err != nil {
		return System{}, err
	}
	saved, unreadable := grub.Read(d.GrubEnv())
	if unreadable != nil {
		// A writer was killed while writing it. GRUB prints an error, continues without it, and cannot
		// save anything.
		saved = &grub.Env{}
	}
	choice, ok := grub.Boot(oem, saved, func(e grub.Entry) bool {
		_, err := os.Stat(image(d, e))
		return err == nil
	})
	if unreadable == nil {
		if err := saved.Write(d.GrubEnv()); err != nil {
			return System{}, err
		}
	}
	if !ok {
		return System{}, ErrNothingToBoot
	}
	return load(d, choice)
}

// image is the file that an entry boots; the active entry follows the symlink.
func image(d disk.Disk, e grub.Entry) string {
	switch e.Mode {
	case grub.Active:
		return d.State(disk.SnapshotsDir, disk.ActiveLink)
	case grub.Passive:
		return d.Snapshot(e.Snapshot, disk.SnapshotImage)
	default:
		return d.Recovery(disk.RecoveryImage)
	}
}

func load(d disk.Disk, choice grub.Choice) (System, error) {
	s := System{Choice: choice, Snapshot: choice.Snapshot}
	var err error
	if choice.Mode == grub.Active {
		if s.Snapshot, err = d.Active(); err != nil {
			return System{}, err
		}
	}
	s.Image, err = source.Open(image(d, choice.Entry))
	if errors.Is(err, source.ErrCorrupt) {
		s.Corrupt, err = true, nil
	}
	return s, err
}

// Panics reports whether the kernel panics on boot; it then reboots by itself (panic=5).
func (s System) Panics() bool {
	return s.Corrupt || s.Image.Labels[source.LabelBoot] == source.BootNone
}

// Healthy reports whether the system passes its assessment.
func (s System) Healthy() bool {
	return s.Image.Labels[source.LabelBoot] != source.BootUnhealthy
}

// routes of the kernel: that of the network, and the default one.
func (s System) routes() string {
	table := "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
		"eth0\t0002000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n"
	if s.Image.Labels[source.LabelBoot] != source.BootUnrouted {
		table += "eth0\t00000000\t0102000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
	}
	return table
}

// KubeletVersion is that of the kubelet in the image.
func (s System) KubeletVersion() string { return s.Image.Labels[source.LabelKubelet] }

// Duration is how long the system takes to boot, if its image says so.
func (s System) Duration() (time.Duration, bool) {
	seconds, err := strconv.ParseFloat(s.Image.Labels[source.LabelBootSeconds], 64)
	return time.Duration(seconds * float64(time.Second)), err == nil
}

// cmdline is the kernel's command line. As with the real one, it names the image of a passive snapshot,
// but not that of the active one.
func (s System) cmdline() string {
	if s.Mode == Live {
		return "cdroot root=live:CDLABEL=COS_LIVE rd.live.dir=/ rd.live.squashimg=rootfs.squashfs console=ttyS0 rd.cos.disable\n"
	}
	label, arg, tail := "COS_STATE", "", " panic=5 security=selinux fsck.mode=force fsck.repair=yes"
	switch s.Mode {
	case grub.Passive:
		arg = " elemental.image=/" + disk.SnapshotsDir + "/" + strconv.Itoa(s.Snapshot) + "/" + disk.SnapshotImage
	case grub.Recovery:
		label, arg, tail = "COS_RECOVERY", " elemental.image=/"+disk.RecoveryImage, " security=selinux enforcing=0"
	}
	if s.Mode != grub.Recovery {
		tail += " rd.emergency=reboot rd.shell=0 systemd.crash_reboot systemd.crash_shell=0"
	}
	if s.HealthCheck {
		tail += " elemental.health_check"
	}
	return fmt.Sprintf("console=tty1 console=ttyS0 root=LABEL=%s%s elemental.mode=%s elemental.oemlabel=COS_OEM%s\n",
		label, arg, s.Mode, tail)
}
