// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rendezvous

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// socket is where the test waits, if it does.
const socket = "lab/rendezvous"

// Moment of a call.
type Moment struct {
	// Argv begins with the base name of the command.
	Argv []string `json:"argv"`
	// Done says that the command has acted; it is about to end.
	Done bool `json:"done,omitempty"`
}

// Meet is called by the command. It returns when the test lets it go on, and at once when no test waits.
func Meet(root string, moment Moment) error {
	path := filepath.Join(root, socket)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	connection, err := net.Dial("unix", path)
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
