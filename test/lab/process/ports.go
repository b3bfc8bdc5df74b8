// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are looked for below the range that kernels take the local ports of outgoing connections from (32768 and
// up on Linux, 49152 elsewhere). In it, a connection can take a port between the moment it is found free and the
// moment its server listens, or while its server is being restarted.
const (
	firstPort = 12000
	lastPort  = 32000
	portTries = 1000
)

// handedOut are the ports that this process has returned: their servers may not listen yet.
var handedOut = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// Ports returns free loopback ports. None is returned twice in the life of this process.
func Ports(count int) ([]int, error) {
	handedOut.Lock()
	defer handedOut.Unlock()
	ports := make([]int, 0, count)
	for range portTries {
		if len(ports) == count {
			return ports, nil
		}
		// At random, so that labs that start at the same time hardly ever pick the same.
		port := firstPort + rand.IntN(lastPort-firstPort)
		if handedOut.ports[port] || !isFree(port) {
			continue
		}
		handedOut.ports[port] = true
		ports = append(ports, port)
	}
	if len(ports) == count {
		return ports, nil
	}
	return nil, fmt.Errorf("looking for %d free ports between %d and %d: %w", count, firstPort, lastPort, errNoFreePort)
}

var errNoFreePort = errors.New("too many are taken")

func isFree(port int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
