// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package power

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const pipe = "lab/power"

// Actions.
const (
	Reboot = "reboot"
	Off    = "poweroff"
)

// Request for a reboot or power-off.
type Request struct {
	// Action is Reboot or Off.
	Action string `json:"action"`
	// Force skips the graceful shutdown.
	Force bool `json:"force,omitempty"`
	// By is the command that made the request.
	By string `json:"by,omitempty"`
}

// Ask sends a request to the supervisor of the host with this root.
func Ask(root string, r Request) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// Non-blocking: without a reader this fails with ENXIO.
	f, err := os.OpenFile(filepath.Join(root, pipe), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("asking for %s: %w", r.Action, err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// Listener receives the requests of a host.
type Listener struct {
	file *os.File
	// Requests is closed with the listener.
	Requests <-chan Request
}

// Listen creates the pipe and reads it until Close.
func Listen(root string) (*Listener, error) {
	path := filepath.Join(root, pipe)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("listening for power requests: %w", err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil && !errors.Is(err, syscall.EEXIST) {
		return nil, fmt.Errorf("listening for power requests: %w", err)
	}
	// Also opened for writing, so that reads do not return EOF when a writer closes it.
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("listening for power requests: %w", err)
	}
	requests := make(chan Request, 16)
	l := &Listener{file: f, Requests: requests}
	go l.read(requests)
	return l, nil
}

func (l *Listener) read(requests chan<- Request) {
	defer close(requests)
	lines := bufio.NewScanner(l.file)
	for lines.Scan() {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err == nil {
			requests <- r
		}
	}
}

// Close ends the listener.
func (l *Listener) Close() error { return l.file.Close() }
