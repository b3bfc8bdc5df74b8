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

// Ports are allocated below the range from which kernels choose the local ports of outgoing connections (32768 and up
// on Linux, 49152 elsewhere). Within it, a connection could take a port after it was found free and before its server
// listens, or while its server is restarted.
const (
	firstPort = 12000
	lastPort  = 32000
	// blockSize is how many ports a process allocates at once. A lab needs about fifty.
	blockSize = 100
)

// own is the allocator of this process.
var own = &ports{first: firstPort, last: lastPort}

// Ports returns free loopback ports. None is returned twice, neither by this process nor by a concurrent process that
// calls it.
func Ports(count int) ([]int, error) { return own.take(count) }

// ports allocates ports from blocks that are leased by this process, because many labs start at the same time and a
// server may listen seconds after its port was found free. A block is leased by listening on its first port, so that
// the lease ends with the process in any case.
type ports struct {
	// first and last of the port range.
	first, last int

	mu     sync.Mutex
	leases []net.Listener
	// next port to try, and the end of its block.
	next, end int
}

func (p *ports) take(count int) ([]int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := make([]int, 0, count)
	for len(taken) < count {
		if p.next == p.end {
			if err := p.lease(); err != nil {
				return nil, fmt.Errorf("looking for %d free ports between %d and %d: %w", count, p.first, p.last, err)
			}
		}
		port := p.next
		p.next++
		if isFree(port) {
			taken = append(taken, port)
		}
	}
	return taken, nil
}

var errNoFreePort = errors.New("too many are taken")

// lease leases a block that no process has leased.
func (p *ports) lease() error {
	for _, block := range rand.Perm((p.last - p.first) / blockSize) {
		first := p.first + block*blockSize
		listener, err := listen(first)
		if err != nil {
			continue
		}
		p.leases = append(p.leases, listener)
		p.next, p.end = first+1, first+blockSize
		return nil
	}
	return errNoFreePort
}

func isFree(port int) bool {
	listener, err := listen(port)
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}
