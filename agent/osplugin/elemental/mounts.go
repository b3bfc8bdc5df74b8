// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mount is a line of the kernel's mount table.
type mount struct {
	// device is the number of the file system's device, as "major:minor".
	device string
	// root is the directory of the file system that is mounted; of btrfs, the subvolume.
	root string
	// target is where it is mounted, a path of the host.
	target string
	// options are those of the file system: of a partition that is mounted twice, what holds for both.
	options []string
}

var octal = regexp.MustCompile(`\\[0-7]{3}`)

// mounts lists what is mounted, oldest first.
func (p *Plugin) mounts() ([]mount, error) {
	table, err := p.host.ReadTrimmed(mountsFile)
	if err != nil {
		return nil, err
	}
	var mounts []mount
	for line := range strings.Lines(table) {
		ofMount, ofFileSystem, found := strings.Cut(line, " - ")
		fields, rest := strings.Fields(ofMount), strings.Fields(ofFileSystem)
		if !found || len(fields) < 6 || len(rest) < 3 {
			continue
		}
		mounts = append(mounts, mount{
			device: fields[2], root: unescape(fields[3]), target: unescape(fields[4]), options: strings.Split(rest[2], ","),
		})
	}
	return mounts, nil
}

// unescape undoes how the kernel writes white space in paths.
func unescape(path string) string {
	return octal.ReplaceAllStringFunc(path, func(code string) string {
		value, _ := strconv.ParseUint(code[1:], 8, 8)
		return string([]byte{byte(value)})
	})
}

// mountedAt is what is seen at a path: of several mounts, the one on top.
func mountedAt(mounts []mount, target string) (mount, bool) {
	for _, each := range slices.Backward(mounts) {
		if each.target == target {
			return each, true
		}
	}
	return mount{}, false
}
