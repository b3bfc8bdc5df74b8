// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unfinished is the exit code of a call that is still running or was killed.
const Unfinished = -1

const logFile = "lab/calls.jsonl"

// Call is one invocation of a command of the host.
type Call struct {
	// ID is unique on the host.
	ID string `json:"id"`
	// Argv begins with the base name of the command.
	Argv []string `json:"argv,omitempty"`
	// Env holds the variables whose names begin with ELEMENTAL_.
	Env   map[string]string `json:"env,omitempty"`
	Start time.Time         `json:"start,omitzero"`
	End   time.Time         `json:"end,omitzero"`
	// RC is the exit code, or Unfinished.
	RC int `json:"rc"`
}

// Is reports whether the call is of this command with these first arguments. Flags in between, such
// as --debug in `elemental --debug upgrade`, are ignored.
func (c Call) Is(argv ...string) bool {
	rest := c.Argv
	for _, want := range argv {
		for len(rest) > 0 && rest[0] != want && strings.HasPrefix(rest[0], "-") {
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0] != want {
			return false
		}
		rest = rest[1:]
	}
	return true
}

// Begin logs the start of a call of a command on the host with this root.
func Begin(root string, argv, environ []string, now time.Time) (Call, error) {
	c := Call{
		ID:    strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(now.UnixNano(), 36),
		Argv:  argv,
		Env:   elementalEnv(environ),
		Start: now,
		RC:    Unfinished,
	}
	return c, appendLine(root, c)
}

// Finish logs the end of a call.
func Finish(root string, c Call, rc int, now time.Time) error {
	return appendLine(root, Call{ID: c.ID, End: now, RC: rc})
}

func elementalEnv(environ []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, "ELEMENTAL_") {
			env[name] = value
		}
	}
	return env
}

// appendLine writes a line with a single write, so that lines of concurrent processes do not
// interleave.
func appendLine(root string, c Call) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	path := filepath.Join(root, logFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("logging call: %w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("logging call: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// Read returns all calls on the host with this root, in the order of their start.
func Read(root string) ([]Call, error) {
	f, err := os.Open(filepath.Join(root, logFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading calls: %w", err)
	}
	defer func() { _ = f.Close() }()
	var all []Call
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c Call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("parsing calls: %w", err)
		}
		all = merge(all, c)
	}
	return all, lines.Err()
}

func merge(all []Call, c Call) []Call {
	i := slices.IndexFunc(all, func(o Call) bool { return o.ID == c.ID })
	if i < 0 {
		return append(all, c)
	}
	all[i].End, all[i].RC = c.End, c.RC
	return all
}
