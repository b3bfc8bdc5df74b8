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

// socket is where the test waits, if it does.
const socket = "lab/rendezvous"

// Moment of a call.
type Moment struct {
	// Argv begins with the base name of the command.
	Argv []string `json:"argv"`
	// HalfWay says that the command has written half of an image: elemental upgrade alone stops there.
	HalfWay bool `json:"halfWay,omitempty"`
	// Done says that the command has acted; it is about to end.
	Done bool `json:"done,omitempty"`
}

// Meet is called by the command. It returns when the test lets it go on, and at once when no test waits, or does not any
// more: the place may be closed at any time.
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
	_, _ = connection.Read(make([]byte, 1)) // ends when the test hangs up
	return nil
}
