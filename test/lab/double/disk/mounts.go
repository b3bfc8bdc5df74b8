// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

const mountsFile = "/proc/self/mountinfo"

// Mount is a line of the mount table.
type Mount struct {
	Device, Target, Options string
}

// Mode is "ro" or "rw"; empty if the options have neither.
func (m Mount) Mode() string {
	for option := range strings.SplitSeq(m.Options, ",") {
		if option == "ro" || option == "rw" {
			return option
		}
	}
	return ""
}

// BootMounts are the mounts of a host that has just booted from a loop device.
func BootMounts() []Mount {
	return []Mount{
		{Device: RootLoop, Target: "/", Options: "ro"},
		{Device: LabelState, Target: StateDir, Options: "rw"},
		{Device: LabelOEM, Target: OEMDir, Options: "rw"},
		{Device: LabelEFI, Target: RunEFIDir, Options: "ro"},
	}
}

// RecoveryMounts are those of a host that runs its recovery system: its recovery partition is mounted in place of the
// state partition.
func RecoveryMounts() []Mount {
	mounts := BootMounts()
	mounts[1].Device = LabelRecovery
	return mounts
}

// LiveMounts are those of a host that runs from live media.
func LiveMounts() []Mount { return []Mount{{Device: "LiveOS_rootfs", Target: "/", Options: "rw"}} }

// InstallMounts are the mount points at which an installation mounts the partitions that it has created. Source:
// elemental-toolkit v2.3.2, constants.
func InstallMounts() []Mount {
	return []Mount{
		{Device: LabelEFI, Target: RunEFIDir, Options: "rw"},
		{Device: LabelOEM, Target: NewOEMDir, Options: "rw"},
		{Device: LabelRecovery, Target: RecoveryDir, Options: "rw"},
		{Device: LabelState, Target: NewStateDir, Options: "rw"},
		{Device: LabelPersistent, Target: NewPersistentDir, Options: "rw"},
	}
}

// InUse reports whether anything on the disk is mounted.
func (d Disk) InUse() (bool, error) {
	mounts, err := d.Mounts()
	return slices.ContainsFunc(mounts, func(m Mount) bool { return strings.HasPrefix(m.Device, "COS_") }), err
}

// number of a device, as "major:minor".
func number(device string) string {
	if minor, found := strings.CutPrefix(device, loopPrefix); found {
		return "7:" + minor
	}
	switch device {
	case LabelEFI:
		return "254:1"
	case LabelOEM:
		return "254:2"
	case LabelRecovery:
		return "254:3"
	case LabelState:
		return "254:4"
	case LabelPersistent:
		return "254:5"
	default:
		return "0:30"
	}
}

// Mounts is the mount table, oldest first. A target can be in it more than once.
func (d Disk) Mounts() ([]Mount, error) {
	data, err := os.ReadFile(d.Path(mountsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading mounts: %w", err)
	}
	var mounts []Mount
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) >= 10 {
			mounts = append(mounts, Mount{Device: f[8], Target: f[4], Options: f[9]})
		}
	}
	return mounts, nil
}

// SetMounts writes the mount table.
func (d Disk) SetMounts(mounts []Mount) error {
	var b strings.Builder
	for i, m := range mounts {
		fmt.Fprintf(&b, "%d 1 %s / %s %s - auto %s %s\n", i+1, number(m.Device), m.Target, m.Options, m.Device, m.Options)
	}
	return d.WriteFile(mountsFile, []byte(b.String()))
}

// MountedAt is the topmost mount of a target.
func (d Disk) MountedAt(target string) (Mount, bool, error) {
	mounts, err := d.Mounts()
	if err != nil {
		return Mount{}, false, err
	}
	i := topmost(mounts, target)
	if i < 0 {
		return Mount{}, false, nil
	}
	return mounts[i], true, nil
}

// Mount adds a mount on top of the existing ones.
func (d Disk) Mount(m Mount) error {
	mounts, err := d.Mounts()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.Path(m.Target), 0o755); err != nil {
		return fmt.Errorf("mounting %s: %w", m.Target, err)
	}
	return d.SetMounts(append(mounts, m))
}

// ErrNotMounted means that nothing is mounted at a target.
var ErrNotMounted = errors.New("not mounted")

// ErrBusy means that something else is mounted below a mount point.
var ErrBusy = errors.New("target is busy")

// Unmount removes the topmost mount of a target, or returns ErrNotMounted or ErrBusy. Mounts below the target that are
// older than this mount are hidden by it and do not make it busy.
func (d Disk) Unmount(target string) error {
	mounts, err := d.Mounts()
	if err != nil {
		return err
	}
	later := mounts[topmost(mounts, target)+1:]
	if slices.ContainsFunc(later, func(m Mount) bool { return strings.HasPrefix(m.Target, target+"/") }) {
		return fmt.Errorf("%s: %w", target, ErrBusy)
	}
	return d.edit(target, func(mounts []Mount, i int) []Mount {
		return slices.Delete(mounts, i, i+1)
	})
}

// Remount changes the options ("ro", "rw") of a target's topmost mount, or returns ErrNotMounted.
func (d Disk) Remount(target, options string) error {
	return d.edit(target, func(mounts []Mount, i int) []Mount {
		mounts[i].Options = options
		return mounts
	})
}

func (d Disk) edit(target string, change func([]Mount, int) []Mount) error {
	mounts, err := d.Mounts()
	if err != nil {
		return err
	}
	i := topmost(mounts, target)
	if i < 0 {
		return fmt.Errorf("%s: %w", target, ErrNotMounted)
	}
	return d.SetMounts(change(mounts, i))
}

func topmost(mounts []Mount, target string) int {
	for i := len(mounts) - 1; i >= 0; i-- {
		if mounts[i].Target == target {
			return i
		}
	}
	return -1
}
