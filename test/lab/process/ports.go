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
	// blockSize is how many ports a process takes at once. A lab needs about fifty.
	blockSize = 100
)

// own is what this process hands out.
var own = &ports{first: firstPort, last: lastPort}

// Ports returns free loopback ports. None is returned twice in the life of this process, nor by another process that
// calls it meanwhile.
func Ports(count int) ([]int, error) { return own.take(count) }

// ports hands out ports from blocks that are its own, because many labs start at the same time and a server may listen
// seconds after its port was found free. A block is leased by listening on its first port, so that a process which ends in
// whatever way has given its blocks back.
type ports struct {
	// first and last of all ports that there are.
	first, last int

	mu     sync.Mutex
	leases []net.Listener
	// next port to look at, and the end of its block.
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

// lease a block that is nobody's.
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
