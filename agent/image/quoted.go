// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"regexp"
	"strings"
)

// longestQuote is how much of a text of others is quoted, in bytes.
const longestQuote = 200

// secrets match what may be a credential in a text, and what differs in each try; each is replaced.
var secrets = []struct {
	match *regexp.Regexp
	with  string
}{
	{regexp.MustCompile(`://[^/@\s"]+@`), "://"},
	{regexp.MustCompile(`\?[^\s"]*`), "?..."},
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]+`), "$1 ..."},
	{regexp.MustCompile(`(?i)\b(password|passwd|secret|token|authorization)(["']?\s*[:=]\s*)\S+`), "$1$2..."},
	{regexp.MustCompile(`\beyJ[\w.-]{8,}`), "..."},
	{regexp.MustCompile(`\S+:\d+->`), ""},
	// Azure and others number their answers.
	{regexp.MustCompile(`(?i)\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "..."},
}

// quoted returns a text of a registry or a library in one line, bounded, without credentials, the ports of connections and the numbers of requests.
func quoted(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, each := range secrets {
		text = each.match.ReplaceAllString(text, each.with)
	}
	if len(text) > longestQuote {
		return strings.ToValidUTF8(text[:longestQuote], "") + "..."
	}
	return text
}
