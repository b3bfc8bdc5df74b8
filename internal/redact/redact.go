// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact removes what looks like a secret from what is handed on with a problem report.
package redact

import "regexp"

// Removed stands where a secret was.
const Removed = "REMOVED"

// secretName matches names of secrets, in any of the ways that names are written.
const secretName = `[\w-]*(?:token|passw(?:or)?d|secret|certificate-?key|key-?data|private-?key)[\w-]*`

// secrets match whatever looks like one: private keys, also in base64 as in a kubeconfig, tokens (JWT, those of kubeadm and K3s, bearer
// tokens), passwords in URLs, and values with the name of a secret: on a line, in an indented block beneath it, and as an option. Redacting
// too much is better than leaking one.
var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/=]*`),
	regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`),
	regexp.MustCompile(`K10[0-9a-fA-F]+::\S+`),
	regexp.MustCompile(`(?i)(bearer|basic) [A-Za-z0-9+/=._~-]{8,}`),
	regexp.MustCompile(`://[^/\s@"']+@`),
	regexp.MustCompile(`(?im)^[ \t-]*["']?` + secretName + `["']?[ \t]*:[ \t]*[|>][-+0-9]*[ \t]*(\n[ \t]+.*)+`),
	regexp.MustCompile(`(?i)` + secretName + `\\?["']?\s*[:=]\s*(\\"[^"]*"|"[^"]*"|'[^']*'|[^\s"',}]+)`),
	regexp.MustCompile(`(?i)--` + secretName + `[ \t]+("[^"]*"|'[^']*'|\S+)`),
}

// Bytes is the text without secrets.
func Bytes(text []byte) []byte {
	for _, secret := range secrets {
		text = secret.ReplaceAll(text, []byte(Removed))
	}
	return text
}

// Text is the text without secrets.
func Text(text string) string { return string(Bytes([]byte(text))) }
