// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// explanations are the numbers of their lines, by the mutants' keys.
type explanations map[string]int

// readExplained reads the mutants that survive for a reason: file, function, kind, source line and the reason, with tabs between them.
// Lines that begin with # are comments.
func readExplained(path string) (explanations, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	explained := explanations{}
	for i, line := range strings.Split(string(content), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 5 || strings.TrimSpace(fields[4]) == "" {
			return nil, fmt.Errorf("%s:%d: want file, function, kind, source line and reason, with a tab between two of them", path, i+1)
		}
		explained[strings.Join(fields[:4], "\t")] = i + 1
	}
	return explained, nil
}

// has reports whether a mutant is explained.
func (e explanations) has(m mutant) bool { return e[m.key()] > 0 }

// check fails where what is explained of a folder's files is none of their mutants: it would explain, one day, what nobody has looked at.
func (e explanations) check(folder string, found []mutant) error {
	known := map[string]bool{}
	for _, each := range found {
		known[each.key()] = true
	}
	var stale []error
	for key, line := range e {
		file, _, _ := strings.Cut(key, "\t")
		if filepath.Dir(file) == filepath.Clean(folder) && !known[key] {
			stale = append(stale, fmt.Errorf("line %d of what is explained is no change of %s", line, file))
		}
	}
	slices.SortFunc(stale, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(stale...)
}
