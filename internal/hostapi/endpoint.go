// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// reply is a 2xx response, or the request to wait for one.
type reply struct {
	status   int
	body     any // nil for none
	location string
	// later is set if the response has to wait; the other fields are then empty.
	later *poll
}

// endpoint wraps a route with limits, errors and metrics.
func (s *Server) endpoint(to route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := s.clock.Now()
		s.limit(w, r)
		answer, err := reply{}, checkRequest(r)
		if err == nil {
			answer, err = to.handle(s, r)
		}
		status := answer.status
		switch {
		case err != nil:
			status = s.sendFailure(w, r, err)
		case answer.later != nil:
			// The time of a long poll is not latency.
			observeRequest(to.name, http.StatusOK, s.clock.Since(began))
			s.hold(w, r, answer.later)
			return
		default:
			send(w, status, answer.body, answer.location)
		}
		observeRequest(to.name, status, s.clock.Since(began))
	})
}

// limit bounds a body in size and time, even if the handler does not read it: the server reads the rest before it serves the next request on
// the connection.
func (s *Server) limit(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, wire.MaxBody)
	// net/http removes the deadline once the body has been read.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.options.BodyTimeout))
}

// checkRequest rejects names that no object can have, and bodies where none is expected, which would keep the server from noticing that a
// waiting host disconnected.
func checkRequest(r *http.Request) error {
	for _, wildcard := range []string{"namespace", "registration", "host"} {
		name := r.PathValue(wildcard)
		if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
			return refuse(http.StatusNotFound, "no %s can have the name %q", wildcard, shorten(name, maxShort))
		}
	}
	if r.ContentLength != 0 && slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodDelete}, r.Method) {
		return refuse(http.StatusBadRequest, "a %s request has no body", r.Method)
	}
	return nil
}

func (s *Server) sendFailure(w http.ResponseWriter, r *http.Request, err error) int {
	failed := asFailure(err)
	if failed.answer.Code >= http.StatusInternalServerError && r.Context().Err() == nil {
		ctrl.LoggerFrom(r.Context()).Error(err, "Request of a host failed", "method", r.Method, "path", r.URL.Path)
	}
	for name, values := range failed.header {
		w.Header()[name] = values
	}
	send(w, failed.answer.Code, failed.answer, "")
	return failed.answer.Code
}

func send(w http.ResponseWriter, status int, body any, location string) {
	// Deadlines belong to the operating system, hence the real clock.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout))
	status, content := encode(w.Header(), status, body)
	if location != "" {
		w.Header().Set("Location", location)
	}
	w.WriteHeader(status)
	// A host that disconnected is not an error.
	_, _ = w.Write(content)
}

// encode sets the headers of a response and returns its body.
func encode(header http.Header, status int, body any) (int, []byte) {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			status = http.StatusInternalServerError
		}
		header.Set("Content-Type", "application/json")
	}
	header.Set("Content-Length", strconv.Itoa(len(content)))
	header.Set("Cache-Control", "no-store")
	return status, content
}
