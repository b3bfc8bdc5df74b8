// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// deviceNumber returns the number of a block device, as "major:minor"; empty if there is none.
func deviceNumber(path string) string {
	var about unix.Stat_t
	if err := unix.Stat(path, &about); err != nil || about.Mode&unix.S_IFMT != unix.S_IFBLK {
		return ""
	}
	return fmt.Sprintf("%d:%d", unix.Major(about.Rdev), unix.Minor(about.Rdev))
}
