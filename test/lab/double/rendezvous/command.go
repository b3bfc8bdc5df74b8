// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rendezvous

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"syscall"
)

// socket is where the test listens, if it does.
const socket = "lab/rendezvous"

// Moment in a call at which the command meets the test.
type Moment struct {
	// Argv begins with the base name of the command.
	Argv []string `json:"argv"`
	// HalfWay is set when the command has written half of an image; only elemental upgrade has this moment.
	HalfWay bool `json:"halfWay,omitempty"`
	// Done is set when the command has done its work and is about to exit.
	Done bool `json:"done,omitempty"`
}

// Meet is called by the command. It returns when the test releases it, and immediately if no test listens; the test may
// stop listening at any time.
func Meet(root string, moment Moment) error {
	connection, err := net.Dial("unix", filepath.Join(root, socket))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("meeting the test: %w", err)
	}
	defer func() { _ = connection.Close() }()
	if err := json.NewEncoder(connection).Encode(moment); err != nil {
		return fmt.Errorf("meeting the test: %w", err)
	}
	_, _ = connection.Read(make([]byte, 1)) // returns when the test closes the connection
	return nil
}
