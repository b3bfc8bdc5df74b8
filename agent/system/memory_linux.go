// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// Trim gives memory back that a process needs to start and to work, but not to wait: the heap that is
// free, and the pages of the program itself, three quarters of an idle agent's resident memory. Those
// are read-only copies of a file; what is used again is mapped again from the page cache. For a process
// with a single agent.
func Trim() {
	debug.FreeOSMemory()
	executable, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	trimMappings(bufio.NewScanner(maps), executable)
}

// trimMappings goes by smaps: a mapping's own line, then its counters. Only mappings of the executable
// that are read-only and that nothing was ever written to (relocations are) can be mapped again.
func trimMappings(lines *bufio.Scanner, executable string) {
	var start, end uintptr
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if isMapping(fields) {
			start, end = readOnly(fields, executable)
		}
		if end != 0 && isUnwritten(fields) {
			discard(start, end)
			end = 0
		}
	}
}

func isMapping(fields []string) bool { return len(fields) >= 5 && strings.Contains(fields[0], "-") }

// isUnwritten goes by the copies that writing makes. Private_Dirty would not do: it also counts pages of
// a program that was installed a moment ago and is not on the disk yet.
func isUnwritten(fields []string) bool {
	return len(fields) >= 2 && fields[0] == "Anonymous:" && fields[1] == "0"
}

// readOnly returns the range of a mapping if it is a read-only one of the executable, otherwise zeros.
func readOnly(fields []string, executable string) (start, end uintptr) {
	if len(fields) != 6 || fields[5] != executable || strings.Contains(fields[1], "w") {
		return 0, 0
	}
	if _, err := fmt.Sscanf(fields[0], "%x-%x", &start, &end); err != nil {
		return 0, 0
	}
	return start, end
}

// discard ignores errors: then the pages just stay.
func discard(start, end uintptr) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, end-start, unix.MADV_DONTNEED)
}
