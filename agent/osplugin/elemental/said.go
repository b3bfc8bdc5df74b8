// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

const (
	// longestReason is how much of the CLI's output is quoted, in bytes.
	longestReason = 300
	// quotedErrors is how many errors of the CLI are quoted: the first is the cause, or the second explains it.
	quotedErrors = 2
	// lastEntries of the CLI's log are quoted if it wrote nothing and did not fail.
	lastEntries = 3
	// mostWarnings are kept of a successful run: one for each of the toolkit's hooks.
	mostWarnings = 4

	levelInfo  = "INFO"
	levelError = "ERRO"
)

// entryStart is the first line of an entry in the log that the CLI writes to its standard output, in color.
var entryStart = regexp.MustCompile(`^(?:\x1b\[\d+m)?([A-Z]{4})(?:\x1b\[0m)?\[[^\]]*\] *(.*?)\s*$`)

// bareStatus matches an error without details: the output of the commands that the CLI runs is only in its debug log.
var bareStatus = regexp.MustCompile(`exit status \d+$`)

// hookStart matches the beginning of the stages of the user's cloud-init files.
var hookStart = regexp.MustCompile(`^Running (\S+) hook$`)

// entry of the CLI's log.
type entry struct{ level, message string }

// entriesOf parses a log. An entry with several errors has a line for each.
func entriesOf(log string) []entry {
	var entries []entry
	for line := range strings.Lines(log) {
		text := strings.TrimSpace(line)
		if match := entryStart.FindStringSubmatch(strings.TrimRight(line, "\r\n")); match != nil {
			entries = append(entries, entry{level: match[1], message: match[2]})
		} else if last := len(entries) - 1; last >= 0 && text != "" {
			entries[last].message += " " + strings.TrimPrefix(text, "* ")
		}
	}
	return entries
}

// reasonOf returns why the CLI failed: the first errors that it logged, since the last ones concern its cleanup, or else its last line.
func reasonOf(result system.Result) string {
	var said []string
	step := ""
	for _, each := range entriesOf(result.Stdout) {
		if each.level == levelInfo && len(said) == 0 {
			step = each.message
		}
		if each.level == levelError && len(said) < quotedErrors {
			said = append(said, strings.Replace(each.message, "1 error occurred: ", "", 1))
		}
	}
	reason := strings.Join(said, "; ")
	if bareStatus.MatchString(reason) && step != "" {
		reason += " after \"" + step + "\""
	}
	for _, stream := range []string{result.Stderr, result.Stdout} {
		if reason == "" {
			reason = system.LastLine(stream)
		}
	}
	return shorten(reason)
}

// endOf returns the last entries of the CLI's log, or else its last line.
func endOf(result system.Result) string {
	entries := entriesOf(result.Stdout)
	var said []string
	for _, each := range entries[max(0, len(entries)-lastEntries):] {
		said = append(said, each.message)
	}
	if len(said) == 0 {
		said = []string{system.LastLine(cmp.Or(strings.TrimSpace(result.Stderr), result.Stdout))}
	}
	end := strings.Join(said, "; ")
	if len(end) > longestReason {
		return "..." + strings.ToValidUTF8(end[len(end)-longestReason:], "")
	}
	return end
}

func shorten(said string) string {
	if len(said) > longestReason {
		return strings.ToValidUTF8(said[:longestReason], "") + "..."
	}
	return said
}

// warningsOf returns the errors after which the CLI continued: the first one of each step; the last one counts the rest. While hooks run,
// the CLI logs only errors, so the entry before them names the hook.
func warningsOf(log string) []string {
	var warnings []string
	step, warned := "", false
	for _, each := range entriesOf(log) {
		if each.level == levelInfo {
			step, warned = each.message, false
		}
		if each.level == levelError && !warned && len(warnings) < mostWarnings {
			warnings, warned = append(warnings, warningOf(step, each.message)), true
		}
	}
	return warnings
}

func warningOf(step, message string) string {
	message = shorten(strings.TrimPrefix(strings.ReplaceAll(message, " : ", ": "), ": "))
	if hook := hookStart.FindStringSubmatch(step); hook != nil {
		return "cloud-init stage " + hook[1] + " failed: " + message
	}
	return "elemental upgrade said after \"" + step + "\": " + message
}
