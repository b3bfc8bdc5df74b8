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

// Trim releases memory that a process needs to start and to work, but not to wait: the free heap, and the pages of the executable, three
// quarters of an idle agent's resident memory. Those are read-only copies of a file, and are mapped again from the page cache when they are
// used. For a process with a single agent.
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

// trimMappings parses smaps: the line of each mapping, then its counters. Only read-only mappings of the executable that were never written
// to (relocations are) can be mapped again.
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

// isUnwritten checks for anonymous pages, which writing creates. Private_Dirty would also count pages of a freshly installed program that is
// not flushed yet.
func isUnwritten(fields []string) bool {
	return len(fields) >= 2 && fields[0] == "Anonymous:" && fields[1] == "0"
}

// readOnly returns the range of a read-only mapping of the executable, otherwise zeros.
func readOnly(fields []string, executable string) (start, end uintptr) {
	if len(fields) != 6 || fields[5] != executable || strings.Contains(fields[1], "w") {
		return 0, 0
	}
	if _, err := fmt.Sscanf(fields[0], "%x-%x", &start, &end); err != nil {
		return 0, 0
	}
	return start, end
}

// discard ignores errors: the pages then stay resident.
func discard(start, end uintptr) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, end-start, unix.MADV_DONTNEED)
}
