// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// virtualInterfaces are name prefixes of interfaces that container networks and virtual machines
// make. Their addresses are not the host's.
var virtualInterfaces = []string{"cali", "cni", "docker", "flannel", "kube-", "lxc", "nodelocaldns", "tunl", "veth", "virbr", "vxlan", "cilium"}

// InterfaceAddresses lists the global unicast IP addresses of the machine's interfaces that are up,
// sorted. Loopback and link-local addresses and interfaces of container networks are left out.
func InterfaceAddresses() ([]string, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("listing network interfaces: %w", err)
	}
	var addresses []string
	for _, each := range interfaces {
		if each.Flags&net.FlagUp == 0 || each.Flags&net.FlagLoopback != 0 || isVirtual(each.Name) {
			continue
		}
		found, err := each.Addrs()
		if err != nil {
			return nil, fmt.Errorf("listing addresses of %s: %w", each.Name, err)
		}
		for _, address := range found {
			if network, ok := address.(*net.IPNet); ok && network.IP.IsGlobalUnicast() {
				addresses = append(addresses, network.IP.String())
			}
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses), nil
}

func isVirtual(name string) bool {
	return slices.ContainsFunc(virtualInterfaces, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
