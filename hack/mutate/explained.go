// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
)

// readExplained reads the mutants that survive for a reason: file, kind, source line and the reason, with tabs between them.
// Lines that begin with # are comments.
func readExplained(path string) (map[string]bool, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	explained := map[string]bool{}
	for i, line := range strings.Split(string(content), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 || strings.TrimSpace(fields[3]) == "" {
			return nil, fmt.Errorf("%s:%d: want file, kind, source line and reason, with a tab between two of them", path, i+1)
		}
		explained[strings.Join(fields[:3], "\t")] = true
	}
	return explained, nil
}
