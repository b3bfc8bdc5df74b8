// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package extensionserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxBody is larger than any request except GeneratePatches, which contains all templates of a topology and has Cluster API's own limit.
	maxBody        = 4 << 20
	maxPatchesBody = 20 << 20
	// maxBodies bounds the bodies of all concurrent requests: callers that are not verified can open any number of connections.
	maxBodies = 64 << 20
	// bodyTimeout is how long the body of a request may take to arrive: Cluster API does not wait longer for an answer.
	bodyTimeout = 10 * time.Second
)

var errTooMany = errors.New("too many hooks are being called at the moment")

// bodies bounds the memory of requests before they are authenticated or decoded.
type bodies struct{ room *semaphore.Weighted }

func newBodies() *bodies { return &bodies{room: semaphore.NewWeighted(maxBodies)} }

// upTo passes on requests whose body has a Content-Length within the limit and arrives in time.
func (b *bodies) upTo(limit int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Also for refused requests: net/http reads the body before it closes the connection. It sets another deadline for the next request.
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
			refuse(w, http.StatusInternalServerError, "cannot set the read deadline")
			return
		}
		switch {
		case r.ContentLength < 0:
			refuse(w, http.StatusLengthRequired, "the body of a hook's request has to have a Content-Length")
			return
		case r.ContentLength > limit:
			refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has %d bytes, and this hook takes %d", r.ContentLength, limit))
			return
		}
		counted := &countedBody{ReadCloser: r.Body, room: b.room}
		defer counted.release()
		r.Body = counted
		next.ServeHTTP(w, r)
	})
}

// countedBody counts the bytes that arrived, not those that were announced: otherwise announcing bodies and sending nothing would block all
// other callers. It does not wait for room, since partial bodies would then wait for each other.
type countedBody struct {
	io.ReadCloser
	room *semaphore.Weighted
	held int64
}

// Read implements io.Reader.
func (c *countedBody) Read(into []byte) (int, error) {
	n, err := c.ReadCloser.Read(into)
	if !c.room.TryAcquire(int64(n)) {
		return 0, errTooMany
	}
	c.held += int64(n)
	return n, err
}

func (c *countedBody) release() { c.room.Release(c.held) }

// refuse sends the response and closes the connection.
func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Connection", "close")
	http.Error(w, message, code)
}
