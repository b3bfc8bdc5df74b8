// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	loopPrefix = "/dev/loop"
	// RootLoop is the loop device of the root file system.
	RootLoop = loopPrefix + "0"
	// loopsDir has a directory for each attached loop device. They outlive the processes that attached them, but not
	// the boot.
	loopsDir    = "/sys/dev/block"
	backingFile = "loop/backing_file"
)

// Loop is an attached loop device.
type Loop struct {
	// Name is /dev/loop and a number, Number is "major:minor".
	Name, Number string
	// File of the host; On is the device of the partition that it lies on, as "major:minor".
	File, On string
}

// Loops are the attached loop devices, by number.
func (d Disk) Loops() ([]Loop, error) {
	found, err := filepath.Glob(d.Path(loopsDir, "7:*", backingFile))
	if err != nil {
		return nil, err
	}
	var loops []Loop
	for _, path := range found {
		file, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading loop devices: %w", err)
		}
		number := filepath.Base(filepath.Dir(filepath.Dir(path)))
		loops = append(loops, d.loop(number, strings.TrimSpace(string(file))))
	}
	slices.SortFunc(loops, func(a, b Loop) int { return len(a.Name) - len(b.Name) + strings.Compare(a.Name, b.Name) })
	return loops, nil
}

func (d Disk) loop(of, file string) Loop {
	loop := Loop{Name: loopPrefix + strings.TrimPrefix(of, "7:"), Number: of, File: file, On: number("")}
	for dir, label := range map[string]string{StateDir: LabelState, recoveryDisk: LabelRecovery, RecoveryDir: LabelRecovery} {
		if strings.HasPrefix(file, dir+"/") {
			loop.On = number(label)
		}
	}
	return loop
}

// Attach attaches the first free loop device to a file of the host and returns its name.
func (d Disk) Attach(file string) (string, error) {
	for i := range 64 {
		path := filepath.Join(loopsDir, "7:"+strconv.Itoa(i), backingFile)
		if _, err := os.Stat(d.Path(path)); err == nil {
			continue
		}
		return loopPrefix + strconv.Itoa(i), d.WriteFile(path, []byte(file+"\n"))
	}
	return "", fmt.Errorf("attaching %s: no loop device is free", file)
}

// Detach detaches a loop device.
func (d Disk) Detach(name string) error {
	dir := d.Path(loopsDir, "7:"+strings.TrimPrefix(name, loopPrefix))
	if _, err := os.Stat(filepath.Join(dir, backingFile)); err != nil {
		return fmt.Errorf("%s: detach failed: No such device or address", name)
	}
	return os.RemoveAll(dir)
}

// DetachAll detaches all loop devices at the end of a boot.
func (d Disk) DetachAll() error { return os.RemoveAll(d.Path(loopsDir)) }

// Attached reports whether a loop device is attached to the image of a snapshot: the CLI considers such snapshots
// booted.
func (d Disk) Attached(id int) (bool, error) {
	loops, err := d.Loops()
	image := d.HostPath(d.Snapshot(id, SnapshotImage))
	return slices.ContainsFunc(loops, func(l Loop) bool { return l.File == image }), err
}
