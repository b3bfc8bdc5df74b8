// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"context"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// routeRejects is a route's flag RTF_REJECT: packets are not sent anywhere.
const routeRejects = 0x200

// routeTables are the kernel's routes: the files, and which of the fields of a line tell that it is a default route.
var routeTables = []struct {
	file                                     string
	device, destination, mask, flags, length int
}{
	{file: "/proc/net/route", device: 0, destination: 1, flags: 3, mask: 7, length: 11},
	{file: "/proc/net/ipv6_route", destination: 0, mask: 1, flags: 8, device: 9, length: 10},
}

// network is a check of hosts that had a default route before. A host without one cannot be reached, and cannot report that. Whether the
// Elemental API answers is not asked: it may be away, or be on this host.
func network(_ context.Context, host *system.Host, _ Question, verdict *Verdict) error {
	routed, err := hasDefaultRoute(host)
	if err == nil && !routed {
		verdict.add(Undecided, "the host has no default route, and had one before")
	}
	return err
}

// hasDefaultRoute reports whether the kernel has a default route, for IPv4 or IPv6.
func hasDefaultRoute(host *system.Host) (bool, error) {
	for _, table := range routeTables {
		content, err := host.ReadTrimmed(table.file)
		if err != nil {
			return false, err
		}
		for line := range strings.Lines(content) {
			fields := strings.Fields(line)
			if len(fields) < table.length || fields[table.device] == "lo" || strings.Trim(fields[table.destination]+fields[table.mask], "0") != "" {
				continue
			}
			if flags, err := strconv.ParseUint(fields[table.flags], 16, 32); err == nil && flags&routeRejects == 0 {
				return true, nil
			}
		}
	}
	return false, nil
}
