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
	// maxBody is above any request but GeneratePatches, which carries all templates of a topology and has Cluster API's own
	// limit.
	maxBody        = 4 << 20
	maxPatchesBody = 20 << 20
	// maxBodies is what the bodies of all requests may take at a time: callers who are not verified can open any number of
	// connections.
	maxBodies = 64 << 20
	// bodyTimeout is how long a request may wait for its body. Cluster API does not wait longer for an answer.
	bodyTimeout = 10 * time.Second
)

var errTooMany = errors.New("too many hooks are being called at the moment")

// bodies bounds the memory that requests take before anything is known of them.
type bodies struct{ room *semaphore.Weighted }

func newBodies() *bodies { return &bodies{room: semaphore.NewWeighted(maxBodies)} }

// upTo has a request handled whose body says how long it is, is not longer than the limit, and is there in time.
func (b *bodies) upTo(limit int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Also of one that is refused: what serves HTTP waits for the end of a body before it closes the connection. It sets
		// another deadline for the next request.
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
			refuse(w, http.StatusInternalServerError, "a limit for the time of the body cannot be set")
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

// countedBody takes room for what has come, not for what was announced: whoever announces bodies and sends nothing would keep
// everybody else waiting. It does not wait for room: bodies that are half there would wait for each other.
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

// refuse ends the connection with the answer.
func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Connection", "close")
	http.Error(w, message, code)
}
