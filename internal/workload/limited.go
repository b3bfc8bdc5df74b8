// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"io"
	"net/http"
)

// maxAnswer is how many bytes of an answer are read where those who ask for it are not those who run the manager. What it is decoded to takes up to
// some 40 times as many.
const maxAnswer = 8 << 20

// ErrTooLarge means that an API server answers more than is read.
var ErrTooLarge = errors.New("the answer is larger than 8 MiB")

// limited is a transport whose answers are read as far as maxAnswer: one API server must not take all the memory of the manager.
type limited struct{ http.RoundTripper }

func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = &limitedBody{ReadCloser: response.Body, left: maxAnswer}
	}
	return response, err //nolint:wrapcheck // it is that of the transport
}

type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.left -= int64(n); b.left < 0 {
		return n, ErrTooLarge
	}
	return n, err //nolint:wrapcheck // io.EOF must stay what it is
}
