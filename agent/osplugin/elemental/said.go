// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"regexp"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

const (
	// longestReason is how much of what the CLI says is quoted, in bytes.
	longestReason = 300
	// quotedErrors is how many errors of the CLI are quoted: the first is the cause, or the second explains it.
	quotedErrors = 2
)

// errorLine is an error in the log that the CLI writes to its standard output, in color.
var errorLine = regexp.MustCompile(`(?m)^(?:\x1b\[\d+m)?ERRO(?:\x1b\[0m)?\[[^\]]*\] *(.*?)\s*$`)

// reasonOf says why the CLI failed: by the first errors that it logged, since the last ones are of its clearing up, or else by the
// last line it wrote.
func reasonOf(result system.Result) string {
	var said []string
	for _, match := range errorLine.FindAllStringSubmatch(result.Stdout, quotedErrors) {
		said = append(said, match[1])
	}
	reason := strings.Join(said, "; ")
	for _, stream := range []string{result.Stderr, result.Stdout} {
		if reason == "" {
			reason = system.LastLine(stream)
		}
	}
	if len(reason) > longestReason {
		reason = reason[:longestReason] + "..."
	}
	return reason
}
