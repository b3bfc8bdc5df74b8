// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/stat, on all architectures of Linux that Go supports.
const tick = 10 * time.Millisecond

// busy is the time for which the processors of the machine have been busy, all of them together; zero where there is no /proc/stat.
func busy() time.Duration {
	file, err := os.Open("/proc/stat")
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Scan()
	return busyOf(lines.Text())
}

// busyOf the first line of /proc/stat: all but idle, iowait, and what guests used, which is in user, too.
func busyOf(line string) time.Duration {
	const idle, iowait, guest = 3, 4, 8
	total := time.Duration(0)
	for i, field := range strings.Fields(strings.TrimPrefix(line, "cpu ")) {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err == nil && i != idle && i != iowait && i < guest {
			total += time.Duration(ticks) * tick
		}
	}
	return total
}
