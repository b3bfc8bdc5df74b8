// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// routeRejects is a route's flag RTF_REJECT: packets are not sent anywhere.
const routeRejects = 0x200

// routeTables are the kernel's routes: the files, and which of the fields of a line tell that it is a default route.
var routeTables = []struct {
	file                             string
	destination, mask, flags, length int
}{
	{file: "/proc/net/route", destination: 1, flags: 3, mask: 7, length: 11},
	{file: "/proc/net/ipv6_route", destination: 0, mask: 1, flags: 8, length: 10},
}

// network is a check of hosts that had a default route before. A host without one cannot be reached, and cannot report that. Whether the
// Elemental API answers is not asked: it may be away, or be on this host.
func network(_ context.Context, host *system.Host, _ Question, verdict *Verdict) error {
	routed, err := hasDefaultRoute(host)
	if err != nil {
		return err
	}
	if !routed {
		verdict.add(Undecided, "the host has no default route, and had one before")
	}
	return nil
}

// hasDefaultRoute reports whether the kernel has a default route, for IPv4 or IPv6. For IPv6 it always has one that rejects.
func hasDefaultRoute(host *system.Host) (bool, error) {
	for _, table := range routeTables {
		content, err := host.ReadTrimmed(table.file)
		if err != nil {
			return false, err
		}
		for line := range strings.Lines(content) {
			fields := strings.Fields(line)
			if len(fields) < table.length || strings.Trim(fields[table.destination]+fields[table.mask], "0") != "" {
				continue
			}
			flags, err := strconv.ParseUint(fields[table.flags], 16, 32)
			if err != nil {
				return false, fmt.Errorf("reading %s: %w", table.file, err)
			}
			if flags&routeRejects == 0 {
				return true, nil
			}
		}
	}
	return false, nil
}
