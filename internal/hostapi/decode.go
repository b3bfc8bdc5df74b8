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

// decodeStrict rejects unknown fields. It is for requests whose effect is permanent: an ignored field would be one that the host relies on.
func decodeStrict(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decodeOne(decoder, into)
}

// decodeKnown ignores unknown fields. An agent may be newer than the API, and if its reports were refused its attempt would never end.
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

// shorten truncates text to at most limit bytes, between two characters.
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

// misleading reports whether a character could move a terminal's cursor, forge a line of a log, or show an operator something else than is
// stored: control characters, line separators, and Unicode format characters, including bidirectional and invisible ones.
func misleading(char rune) bool {
	return unicode.In(char, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// plain removes misleading characters from quoted text, such as the output of a command.
func plain(text string) string {
	return strings.TrimSpace(strings.Map(func(char rune) rune {
		if misleading(char) {
			return ' '
		}
		return char
	}, text))
}
