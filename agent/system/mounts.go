// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MountsFile is the kernel's mount table, as the agent sees it. Source: proc_pid_mountinfo(5).
const MountsFile = "/proc/self/mountinfo"

// Mount is a line of the kernel's mount table.
type Mount struct {
	// Device is the number of the file system's device, as "major:minor".
	Device string
	// Root is the directory of the file system that is mounted; of btrfs, the subvolume.
	Root string
	// Target is where it is mounted, a path of the host.
	Target string
	// FileSystem is its kind.
	FileSystem string
	// Options of the file system; if it is mounted several times, they apply to all mounts.
	Options []string
}

var octal = regexp.MustCompile(`\\[0-7]{3}`)

// Mounts lists what is mounted, oldest first.
func (h *Host) Mounts() ([]Mount, error) {
	table, err := h.ReadTrimmed(MountsFile)
	if err != nil {
		return nil, err
	}
	var mounts []Mount
	for line := range strings.Lines(table) {
		ofMount, ofFileSystem, found := strings.Cut(line, " - ")
		fields, rest := strings.Fields(ofMount), strings.Fields(ofFileSystem)
		if !found || len(fields) < 6 || len(rest) < 3 {
			continue
		}
		mounts = append(mounts, Mount{
			Device: fields[2], Root: unescape(fields[3]), Target: unescape(fields[4]), FileSystem: rest[0], Options: strings.Split(rest[2], ","),
		})
	}
	return mounts, nil
}

// unescape decodes white space in the kernel's paths.
func unescape(path string) string {
	return octal.ReplaceAllStringFunc(path, func(code string) string {
		value, _ := strconv.ParseUint(code[1:], 8, 8)
		return string([]byte{byte(value)})
	})
}

// MountedAt returns what is mounted at a path: of several mounts, the topmost.
func MountedAt(mounts []Mount, target string) (Mount, bool) {
	for _, each := range slices.Backward(mounts) {
		if each.Target == target {
			return each, true
		}
	}
	return Mount{}, false
}

// MountOf returns the mount that contains a path: the deepest and, of several at one place, the topmost.
func MountOf(mounts []Mount, path string) (found Mount) {
	for _, each := range mounts {
		inside := each.Target == "/" || path == each.Target || strings.HasPrefix(path, each.Target+"/")
		if inside && len(each.Target) >= len(found.Target) {
			found = each
		}
	}
	return found
}
