// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rendezvous

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
)

// Place is the test's side of the rendezvous with the commands of one host.
type Place struct {
	listener net.Listener
	met      func(Moment)
}

// Open makes the commands of the host with this root wait for the test. met is called for each, concurrently; the
// command continues when it returns.
func Open(root string, met func(Moment)) (*Place, error) {
	listener, err := net.Listen("unix", filepath.Join(root, socket))
	if err != nil {
		return nil, fmt.Errorf("opening a rendezvous: %w", err)
	}
	p := &Place{listener: listener, met: met}
	go p.accept()
	return p, nil
}

func (p *Place) accept() {
	for {
		connection, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.meet(connection)
	}
}

func (p *Place) meet(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	moment := Moment{}
	if err := json.NewDecoder(connection).Decode(&moment); err == nil {
		p.met(moment)
	}
}

// Close lets commands continue without a test.
func (p *Place) Close() error { return p.listener.Close() }
