// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
)

// OnlyText is the effect of an update that changes only human-readable text.
const OnlyText = "text"

// Effects names each change that a write makes, sorted. The names are the same in every upgrade. A write that
// changes nothing but timestamps, or nothing at all, has none.
func (w *Write) Effects() []string {
	if w.Verb != verbUpdate {
		return []string{w.Verb}
	}
	effects, anything := []string{}, false
	walk(nil, w.Old, w.New, func(c change) {
		anything = anything || !c.isBookkeeping()
		effects = append(effects, c.describe()...)
	})
	if len(effects) == 0 && anything {
		return []string{OnlyText}
	}
	slices.Sort(effects)
	return slices.Compact(effects)
}

// change of one field.
type change struct {
	path     []string
	from, to any
}

// walk calls tell for each field in which two objects differ.
func walk(at []string, from, to any, tell func(change)) {
	if reflect.DeepEqual(from, to) {
		return
	}
	a, isMapA := from.(map[string]any)
	b, isMapB := to.(map[string]any)
	if (!isMapA && from != nil) || (!isMapB && to != nil) {
		tell(change{path: at, from: from, to: to})
		return
	}
	keys := map[string]bool{}
	for _, each := range []map[string]any{a, b} {
		for key := range each {
			keys[key] = true
		}
	}
	if len(keys) == 0 { // an empty object that is added or removed
		tell(change{path: at, from: from, to: to})
	}
	for key := range keys {
		walk(append(slices.Clone(at), key), a[key], b[key], tell)
	}
}

// isBookkeeping reports whether the change is one that the API server made itself, or only a timestamp.
func (c change) isBookkeeping() bool {
	if c.path[0] == "metadata" {
		return slices.Contains([]string{"managedFields", "resourceVersion", "generation"}, c.path[1])
	}
	return c.path[len(c.path)-1] == "lastSeen"
}

// describe names the change, without values that differ between upgrades; nothing for mere text.
func (c change) describe() []string {
	switch {
	case c.path[0] == "metadata":
		return c.metadata()
	case c.path[0] != "status":
		return []string{strings.Join(c.path[:min(len(c.path), 2)], ".") + c.direction()}
	case c.path[1] == "conditions":
		return c.conditions()
	}
	return c.status()
}

// direction distinguishes a field that is added from one that is removed.
func (c change) direction() string {
	switch {
	case c.from == nil:
		return " set"
	case c.to == nil:
		return " removed"
	}
	return " changed"
}

func (c change) metadata() []string {
	switch c.path[1] {
	case "labels":
		return []string{fmt.Sprintf("label %s=%v", path.Base(c.path[2]), orNothing(c.to))}
	case "annotations":
		return []string{"annotation " + path.Base(c.path[2]) + c.direction()}
	case "finalizers", "ownerReferences":
		return []string{c.path[1] + c.direction()}
	}
	return nil
}

func (c change) status() []string {
	switch name := strings.Join(c.path, "."); name {
	case "status.phase", "status.step", "status.upgrade.phase":
		return []string{fmt.Sprintf("%s=%v", name, orNothing(c.to))}
	case "status.stepIndex", "status.stepCount", "status.progress", "status.message", "status.steps", "status.checks", "status.agent.lastSeen":
		return nil
	case "status.upgradeSlots":
		return []string{name + c.direction()}
	}
	return []string{strings.Join(c.path[:2], ".")}
}

// conditions are those whose status or reason has changed.
func (c change) conditions() []string {
	was, changed := map[string]bool{}, []string{}
	for _, each := range conditionsOf(c.from) {
		was[each] = true
	}
	for _, each := range conditionsOf(c.to) {
		if !was[each] {
			changed = append(changed, "condition "+each)
		}
	}
	return changed
}

func conditionsOf(value any) []string {
	list, _ := value.([]any)
	all := make([]string, 0, len(list))
	for _, each := range list {
		if condition, isMap := each.(map[string]any); isMap {
			all = append(all, fmt.Sprintf("%v=%v/%v", condition["type"], condition["status"], condition["reason"]))
		}
	}
	return all
}

func orNothing(value any) any {
	if value == nil {
		return "nothing"
	}
	return value
}
