// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package grub

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

const (
	// BlockSize is the size of an environment block in bytes. GRUB writes it in place and never
	// changes it.
	BlockSize = 1024

	signature = "# GRUB Environment Block\n"
)

// Variables of <oem>/grubenv.
const (
	// BootAssessmentCheck is "yes" from an install, upgrade or reset until the new system passes.
	BootAssessmentCheck = "boot_assessment_check"
	// BootAssessmentAlwaysCheck is "yes" if a user wants every boot assessed.
	BootAssessmentAlwaysCheck = "boot_assessment_always_check"
	// LastBootAttempt is the entry that GRUB tried last and that has not passed its assessment yet.
	LastBootAttempt = "last_boot_attempt"
	// NextEntry is booted once.
	NextEntry = "next_entry"
	// SavedEntry is booted when no assessment is due.
	SavedEntry = "saved_entry"
)

// Variables of <efi>/grub_oem_env.
const (
	// PassiveSnapshots are the ids of all snapshots but the active one, newest first.
	PassiveSnapshots = "passive_snaps"
	// DefaultFallback is the list of indices of the entries to try when one cannot be loaded.
	DefaultFallback = "default_fallback"
	// DefaultMenuEntry is the title of the entries.
	DefaultMenuEntry = "default_menu_entry"
)

// Yes is the value of a variable that is set.
const Yes = "yes"

// ErrFull means that a block has no room for another variable.
var ErrFull = errors.New("environment block too small")

type variable struct{ name, value string }

// Env is the content of an environment block; the order of its variables is kept.
type Env struct{ vars []variable }

// Read reads the block at path. A missing file is an empty block, as for grub2-editenv.
func Read(path string) (*Env, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Env{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading environment block: %w", err)
	}
	env, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading environment block %s: %w", path, err)
	}
	return env, nil
}

// Parse decodes a block.
func Parse(block []byte) (*Env, error) {
	if !bytes.HasPrefix(block, []byte(signature)) {
		return nil, errors.New("invalid environment block")
	}
	env := &Env{}
	rest := string(block[len(signature):])
	for rest != "" {
		var line string
		line, rest = cutLine(rest)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if name, value, ok := strings.Cut(line, "="); ok {
			env.Set(name, value)
		}
	}
	return env, nil
}

// cutLine splits off a line and resolves backslash escapes, which can include an escaped newline.
func cutLine(text string) (line, rest string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case text[i] == '\n':
			return b.String(), text[i+1:]
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), ""
}

// Get returns the value of a variable, "" when it is not set.
func (e *Env) Get(name string) string {
	for _, v := range e.vars {
		if v.name == name {
			return v.value
		}
	}
	return ""
}

// Set sets a variable. An empty value is kept: GRUB's save_env writes "name=" for it.
func (e *Env) Set(name, value string) {
	for i := range e.vars {
		if e.vars[i].name == name {
			e.vars[i].value = value
			return
		}
	}
	e.vars = append(e.vars, variable{name, value})
}

// Unset removes a variable, if it is there.
func (e *Env) Unset(name string) {
	for i := range e.vars {
		if e.vars[i].name == name {
			e.vars = append(e.vars[:i], e.vars[i+1:]...)
			return
		}
	}
}

// List returns "name=value" of every variable, in the order in which they were first set.
func (e *Env) List() []string {
	lines := make([]string, 0, len(e.vars))
	for _, v := range e.vars {
		lines = append(lines, v.name+"="+v.value)
	}
	return lines
}

// Block encodes the variables as a block of BlockSize bytes. It returns ErrFull when they do not fit.
func (e *Env) Block() ([]byte, error) {
	escape := strings.NewReplacer(`\`, `\\`, "\n", "\\\n")
	var b bytes.Buffer
	b.WriteString(signature)
	for _, v := range e.vars {
		b.WriteString(v.name + "=" + escape.Replace(v.value) + "\n")
	}
	if b.Len() > BlockSize {
		return nil, ErrFull
	}
	b.Write(bytes.Repeat([]byte("#"), BlockSize-b.Len()))
	return b.Bytes(), nil
}

// Write writes the block at path in place with a single write: the agent, the boot assessment and GRUB access
// it without a lock, and the size of a block is constant.
func (e *Env) Write(path string) error {
	block, err := e.Block()
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing environment block: %w", err)
	}
	_, err = file.WriteAt(block, 0)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing environment block: %w", err)
	}
	return nil
}
