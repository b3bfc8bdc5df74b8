// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
)

// Exit codes of mount(8) and umount(8).
const (
	exitUsage    = 1
	exitMounting = 32
)

// losetup simulates losetup -ln -O COLUMNS, with padded columns, and losetup -d DEVICE.
func losetup(_ context.Context, c *Call) int {
	args := c.Argv[1:]
	switch {
	case len(args) == 2 && args[0] == "-d":
		if err := c.Disk.Detach(args[1]); err != nil {
			return c.fail(exitUsage, "losetup: %v", err)
		}
		return 0
	case len(args) == 3 && args[0] == "-ln" && args[1] == "-O":
		return listLoops(c, strings.Split(args[2], ","))
	default:
		return c.fail(exitUsage, "losetup: only -ln -O COLUMNS and -d DEVICE are there on a lab host")
	}
}

func listLoops(c *Call, columns []string) int {
	loops, err := c.Disk.Loops()
	if err != nil {
		return c.fail(exitUsage, "losetup: %v", err)
	}
	for _, loop := range loops {
		for _, column := range columns {
			switch column {
			case "NAME":
				c.print("%-11s", loop.Name)
			case "MAJ:MIN":
				c.print("%7s  ", loop.Number)
			case "BACK-MAJ:MIN":
				c.print("%12s  ", loop.On)
			case "BACK-FILE":
				c.print("%s", loop.File)
			default:
				return c.fail(exitUsage, "losetup: unknown column: %s", column)
			}
		}
		c.print("\n")
	}
	return 0
}

// df simulates df -B1 --output=avail PATH. The state partition has a simulated size; all other paths
// report the free space of the machine.
func df(_ context.Context, c *Call) int {
	path := c.Argv[len(c.Argv)-1]
	if len(c.Argv) < 2 || strings.HasPrefix(path, "-") {
		return c.fail(exitUsage, "df: a path is wanted")
	}
	if !slices.Contains(c.Argv, "--output=avail") {
		return c.fail(exitUsage, "df: only --output=avail is there on a lab host")
	}
	avail := c.Disk.Available()
	if !strings.HasPrefix(c.Disk.HostPath(path), disk.StateDir) {
		var fs syscall.Statfs_t
		if err := syscall.Statfs(c.real(path), &fs); err != nil {
			return c.fail(exitUsage, "df: %s: %v", path, err)
		}
		avail = int64(fs.Bavail) * int64(fs.Bsize)
	}
	if !slices.Contains(c.Argv, "-B1") {
		avail /= 1024
	}
	number := strconv.FormatInt(avail, 10)
	width := max(len("Avail"), len(number))
	c.print("%*s\n%*s\n", width, "Avail", width, number)
	return 0
}

// mount lists the mounts, changes the options of one (-o remount,ro|rw TARGET), adds one, or adds one
// of the host's fstab (TARGET alone).
func mount(_ context.Context, c *Call) int {
	options, args := mountArgs(c.Argv[1:])
	var err error
	switch {
	case len(args) == 0:
		return listMounts(c)
	case slices.Contains(options, "remount"):
		mode := "rw"
		if slices.Contains(options, "ro") {
			mode = "ro"
		}
		err = c.Disk.Remount(c.Disk.HostPath(args[len(args)-1]), mode)
	case len(args) == 1:
		err = mountKnown(c, c.Disk.HostPath(args[0]))
	case len(args) == 2:
		err = c.Disk.Mount(disk.Mount{
			Device: args[0], Target: c.Disk.HostPath(args[1]), Options: strings.Join(options, ","),
		})
	default:
		return c.fail(exitUsage, "mount: bad usage")
	}
	if err != nil {
		return c.fail(exitMounting, "mount: %v", err)
	}
	return 0
}

// mountKnown mounts what the host's fstab has for a target.
func mountKnown(c *Call, target string) error {
	for _, m := range disk.BootMounts() {
		if m.Target != target {
			continue
		}
		if target == disk.OEMDir {
			if err := c.Disk.Show(target); err != nil {
				return err
			}
		}
		return c.Disk.Mount(m)
	}
	return fmt.Errorf("%s: can't find in /etc/fstab", target)
}

func mountArgs(argv []string) (options, args []string) {
	for i := 0; i < len(argv); i++ {
		switch {
		case argv[i] == "-o" && i+1 < len(argv):
			i++
			options = append(options, strings.Split(argv[i], ",")...)
		case argv[i] == "--bind":
			options = append(options, "bind")
		case strings.HasPrefix(argv[i], "-o"):
			options = append(options, strings.Split(argv[i][2:], ",")...)
		case strings.HasPrefix(argv[i], "-"):
		default:
			args = append(args, argv[i])
		}
	}
	if len(options) == 0 {
		options = []string{"rw"}
	}
	return options, args
}

func listMounts(c *Call) int {
	mounts, err := c.Disk.Mounts()
	if err != nil {
		return c.fail(exitMounting, "mount: %v", err)
	}
	for _, m := range mounts {
		c.print("%s on %s type auto (%s)\n", m.Device, m.Target, m.Options)
	}
	return 0
}

// umount removes the topmost mount of each target.
func umount(_ context.Context, c *Call) int {
	rc := 0
	for _, target := range c.Argv[1:] {
		if strings.HasPrefix(target, "-") {
			continue
		}
		err := c.Disk.Unmount(c.Disk.HostPath(target))
		if errors.Is(err, disk.ErrNotMounted) {
			rc = c.fail(exitMounting, "umount: %s: not mounted.", target)
		} else if err != nil {
			rc = c.fail(exitMounting, "umount: %v", err)
		}
	}
	return rc
}
