// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudinit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

const (
	exitSyntax   = 2
	exitNotFound = 127
)

// Shell runs a line of simple commands with && and || between them, or several such lines.
func (r *Runner) Shell(ctx context.Context, text string) int {
	rc := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words, err := split(line)
		if err != nil {
			r.logf("%v: %s", err, line)
			return exitSyntax
		}
		rc = r.list(ctx, words)
	}
	return rc
}

// list runs commands separated by the words &&, || and ; .
func (r *Runner) list(ctx context.Context, words []word) int {
	rc, operator := 0, ";"
	for len(words) > 0 {
		end := 0
		for end < len(words) && !words[end].separates() {
			end++
		}
		skip := (operator == "&&" && rc != 0) || (operator == "||" && rc == 0)
		if end > 0 && !skip {
			rc = r.simple(ctx, words[:end])
		}
		if end == len(words) {
			break
		}
		operator, words = words[end].text, words[end+1:]
	}
	return rc
}

// simple runs one command with its redirections.
func (r *Runner) simple(ctx context.Context, words []word) int {
	var argv []string
	var target string
	appending := false
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.quoted:
			argv = append(argv, w.text)
		case (w.text == ">" || w.text == ">>") && i+1 < len(words):
			i++
			target, appending = words[i].text, w.text == ">>"
		case strings.HasPrefix(w.text, "2>"):
		default:
			argv = append(argv, w.text)
		}
	}
	if len(argv) == 0 {
		return 0
	}
	var out bytes.Buffer
	rc := r.command(ctx, argv, &out)
	if target == "" {
		_, _ = r.Log.Write(out.Bytes())
		return rc
	}
	if err := r.redirect(target, appending, out.Bytes()); err != nil {
		r.logf("%v", err)
		return 1
	}
	return rc
}

// redirect fails where the directory is missing, as a shell does.
func (r *Runner) redirect(target string, appending bool, data []byte) error {
	if target == "/dev/null" {
		return nil
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if appending {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(r.Disk.Path(r.Disk.HostPath(target)), flags, 0o644)
	if err != nil {
		return fmt.Errorf("redirecting: %w", err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// word of a line. Quoted text is never an operator.
type word struct {
	text   string
	quoted bool
}

func (w word) separates() bool {
	return !w.quoted && (w.text == "&&" || w.text == "||" || w.text == ";")
}

var errQuote = errors.New("unterminated quote")

// split splits a line at spaces that are not quoted.
func split(line string) ([]word, error) {
	var s splitter
	for _, c := range line {
		s.next(c)
	}
	s.end()
	if s.quote != 0 {
		return nil, errQuote
	}
	return s.words, nil
}

// splitter is the state of split.
type splitter struct {
	words   []word
	current strings.Builder
	// quote is the open quote, or 0.
	quote rune
	// quoted reports whether the word had a quote, started whether there is a word at all.
	quoted, started bool
}

func (s *splitter) next(c rune) {
	switch {
	case s.quote != 0 && c == s.quote:
		s.quote = 0
	case s.quote != 0:
		s.current.WriteRune(c)
	case c == '"' || c == '\'':
		s.quote, s.quoted, s.started = c, true, true
	case c == ' ' || c == '\t':
		s.end()
	default:
		s.current.WriteRune(c)
		s.started = true
	}
}

func (s *splitter) end() {
	if s.started {
		s.words = append(s.words, word{s.current.String(), s.quoted})
	}
	s.current.Reset()
	s.quoted, s.started = false, false
}
