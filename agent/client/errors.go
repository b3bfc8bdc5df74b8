// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrUnauthorized (401): a token was refused.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden (403): the host may not do this, for example because it is not approved.
	ErrForbidden = errors.New("forbidden")
	// ErrNotFound (404): the host, or what it asked for, does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict (409): the name belongs to a host with another key.
	ErrConflict = errors.New("conflict")
	// ErrTooMany (429): the API refuses the request for now, and says when to retry.
	ErrTooMany = errors.New("too many requests")
	// ErrRefused (any other 4xx): the request is invalid, and retrying it is useless.
	ErrRefused = errors.New("refused")
	// ErrUnavailable (5xx): the API failed; a retry may succeed.
	ErrUnavailable = errors.New("unavailable")
)

// maxErrorBody is how much of an error's body is read, in bytes.
const maxErrorBody = 4 << 10

// APIError is a response that is not a success.
type APIError struct {
	// Doing is the failed operation.
	Doing string
	// Status is the HTTP status.
	Status int
	// Message is the API's.
	Message string
	// ComeBack is the time after which the API asks for a retry (Retry-After); 0 if it does not say.
	ComeBack time.Duration
}

// RetryAfter implements the interface of package retry.
func (e *APIError) RetryAfter() time.Duration { return e.ComeBack }

// Error returns what failed, and why.
func (e *APIError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s: the Elemental API answered %d %s", e.Doing, e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%s: the Elemental API answered %d: %s", e.Doing, e.Status, e.Message)
}

// Unwrap makes errors.Is work with this package's errors.
func (e *APIError) Unwrap() error {
	switch {
	case e.Status == http.StatusUnauthorized:
		return ErrUnauthorized
	case e.Status == http.StatusForbidden:
		return ErrForbidden
	case e.Status == http.StatusNotFound:
		return ErrNotFound
	case e.Status == http.StatusConflict:
		return ErrConflict
	case e.Status == http.StatusTooManyRequests:
		return ErrTooMany
	case e.Status >= http.StatusInternalServerError:
		return ErrUnavailable
	}
	return ErrRefused
}

func readError(doing string, response *http.Response) error {
	failure := &APIError{Doing: doing, Status: response.StatusCode, ComeBack: comeBack(response.Header)}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	if err != nil {
		return failure
	}
	body := wire.Error{}
	if json.Unmarshal(content, &body) == nil {
		failure.Message = strings.TrimSpace(body.Message)
	}
	return failure
}

// comeBack reads Retry-After in seconds, the form that the API uses.
func comeBack(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
