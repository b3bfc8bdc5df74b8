// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// decodeBody reads the JSON body of an authenticated caller.
func decodeBody(r *http.Request, into any, decode func(raw []byte, into any) error) error {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return refuseBody(err)
	}
	proven(r)
	return decode(raw, into)
}

// decodeStrict is for what is believed once and for all: a field that we do not know is something that the host believes to have said.
func decodeStrict(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decodeOne(decoder, into)
}

// decodeKnown leaves out fields that we do not know. An agent may be newer than the API, and one whose reports were refused would
// never come to the end of an attempt.
func decodeKnown(raw []byte, into any) error {
	return decodeOne(json.NewDecoder(bytes.NewReader(raw)), into)
}

func decodeOne(decoder *json.Decoder, into any) error {
	if err := decoder.Decode(into); err != nil {
		return refuse(http.StatusBadRequest, "body is not what this path takes: %s", shorten(err.Error(), maxShort))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, "body has more than one JSON value")
	}
	return nil
}

func refuseBody(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return refuse(http.StatusRequestEntityTooLarge, "body is larger than %d bytes", tooLarge.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refuse(http.StatusRequestTimeout, "body did not arrive in time")
	default:
		return refuse(http.StatusBadRequest, "body is not complete")
	}
}

// shorten cuts text to at most limit bytes, between two characters.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// misleading says whether a character would move a terminal's cursor, forge a line of a log, or show an operator something else than
// is there: control characters, separators of lines, and what Unicode calls format characters, among which are those that
// turn the direction of text and those that cannot be seen.
func misleading(char rune) bool {
	return unicode.In(char, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// plain takes misleading characters out of text that quotes what others said, such as the output of a command.
func plain(text string) string {
	return strings.TrimSpace(strings.Map(func(char rune) rune {
		if misleading(char) {
			return ' '
		}
		return char
	}, text))
}
