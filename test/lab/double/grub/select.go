// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package grub

import (
	"strconv"
	"strings"
)

// Modes in which a host boots.
const (
	Active   = "active"
	Passive  = "passive"
	Recovery = "recovery"
)

// Entry of the boot menu.
type Entry struct {
	// ID is "active", "passive<snapshot>" or "recovery".
	ID string
	// Mode is Active, Passive or Recovery.
	Mode string
	// Snapshot is the ID of a passive entry's snapshot; 0 for the others: the active one is the
	// target of the symlink.
	Snapshot int
}

// Choice is the entry that GRUB loaded.
type Choice struct {
	Entry
	// HealthCheck reports whether the kernel is asked for a boot assessment.
	HealthCheck bool
}

// boot is one run of the boot loader; vars are the variables of grub.cfg.
type boot struct {
	oem, saved *Env
	menu       []Entry
	selected   bool
	dflt       string
}

// Boot chooses the entry that is loaded next and updates saved, the variables of grubenv, as grub.cfg
// does. loadable reports whether the image of an entry exists; GRUB does not check more of it. The
// second result is false if nothing can be loaded.
//
// Source: elemental-toolkit v2.3.2, features grub-config and boot-assessment.
func Boot(oem, saved *Env, loadable func(Entry) bool) (Choice, bool) {
	b := &boot{oem: oem, saved: saved}
	b.chooseDefault()
	b.menu = b.entries()
	health := b.assess()
	for _, entry := range b.candidates() {
		if loadable(entry) {
			return Choice{Entry: entry, HealthCheck: health && entry.Mode != Recovery}, true
		}
	}
	return Choice{}, false
}

// get resolves a variable: grub_oem_env is loaded last and takes precedence.
func (b *boot) get(name string) string {
	if v := b.oem.Get(name); v != "" {
		return v
	}
	return b.saved.Get(name)
}

func (b *boot) chooseDefault() {
	next := b.get(NextEntry)
	if next == "" {
		b.dflt = b.get(SavedEntry)
		return
	}
	b.dflt, b.selected = next, true
	b.saved.Set(NextEntry, "")
}

// assess is bootassessment.cfg: it reports whether an assessment is due and, unless a next entry was
// requested, replaces the default by the entry to try next.
func (b *boot) assess() bool {
	if b.get(BootAssessmentCheck) != Yes && b.get(BootAssessmentAlwaysCheck) != Yes {
		return false
	}
	if b.selected {
		return true
	}
	last := b.get(LastBootAttempt)
	if last == "" {
		b.dflt = Active
	} else {
		b.dflt = b.after(last)
	}
	b.saved.Set(LastBootAttempt, b.dflt)
	return true
}

// after is the passive entry that follows the failed one; the last one is retried forever.
func (b *boot) after(last string) string {
	previousDone := false
	dflt := b.dflt
	for _, snap := range strings.Fields(b.get(PassiveSnapshots)) {
		dflt = Passive + snap
		if last == Active || previousDone {
			break
		}
		previousDone = last == dflt
	}
	return dflt
}

func (b *boot) entries() []Entry {
	menu := []Entry{{ID: Active, Mode: Active}}
	for _, snap := range strings.Fields(b.get(PassiveSnapshots)) {
		id, err := strconv.Atoi(snap)
		if err != nil {
			continue
		}
		menu = append(menu, Entry{ID: Passive + snap, Mode: Passive, Snapshot: id})
	}
	return append(menu, Entry{ID: Recovery, Mode: Recovery})
}

// candidates are the default entry and then those of the fallback list. GRUB treats an unknown
// default as the first entry.
func (b *boot) candidates() []Entry {
	entry, ok := b.lookup(b.dflt)
	if !ok {
		entry = b.menu[0]
	}
	all := []Entry{entry}
	fallback := b.get(DefaultFallback)
	if fallback == "" {
		fallback = "0 " + Recovery
	}
	for _, name := range strings.Fields(fallback) {
		if entry, ok := b.lookup(name); ok {
			all = append(all, entry)
		}
	}
	return all
}

func (b *boot) lookup(name string) (Entry, bool) {
	if i, err := strconv.Atoi(name); err == nil {
		if i < 0 || i >= len(b.menu) {
			return Entry{}, false
		}
		return b.menu[i], true
	}
	for _, entry := range b.menu {
		if entry.ID == name {
			return entry, true
		}
	}
	return Entry{}, false
}
