// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Unreachable is an error that a retry may resolve. Its text is for operators; the cause has the details.
type Unreachable struct {
	Message string
	Cause   error
	// Wait is how long the registry asks to be left alone; 0 if it does not.
	Wait time.Duration
}

// Error is the message.
func (u *Unreachable) Error() string { return u.Message }

// Unwrap returns the cause.
func (u *Unreachable) Unwrap() error { return u.Cause }

// RetryAfter is the wait that the registry asks for, for retry.Asked.
func (u *Unreachable) RetryAfter() time.Duration { return u.Wait }

// blobError is the failure of a request for a blob.
type blobError struct {
	name  string
	cause error
}

// Error is that of the cause: it names the blob where that matters.
func (b *blobError) Error() string { return b.cause.Error() }

// Unwrap returns the cause.
func (b *blobError) Unwrap() error { return b.cause }

// failure of a request about an image.
type failure struct {
	err             error
	registry, image string
	// manifest is the tag or digest of the image. An index may list others.
	manifest string
	// blob that was requested; empty for something else.
	blob string
	// answer of the registry, the token service or the host of its blobs; nil if there was none.
	answer *transport.Error
}

// explain turns an error of a request into one that tells whether a retry can help: that of the first of causes that it has. Its text is the same
// for each retry.
func explain(ctx context.Context, reference name.Reference, err error) error {
	if err == nil || ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	var terminal *Terminal
	if errors.As(err, &terminal) {
		return err
	}
	failed := failure{err: err, registry: reference.Context().RegistryStr(), image: reference.Name(), manifest: reference.Identifier()}
	var blob *blobError
	if errors.As(err, &blob) {
		failed.blob = blob.name
	}
	if errors.As(err, &failed.answer) && failed.blob == "" {
		failed.blob = failed.requestedBlob()
	}
	for _, each := range causes {
		detail, is := each.is(failed)
		if !is {
			continue
		}
		text := each.text(failed, detail)
		if each.final {
			return &Terminal{Message: text}
		}
		return &Unreachable{Message: text, Cause: err, Wait: askedWait(ctx)}
	}
	return err // not reached: the last cause is any
}

// requestedBlob returns the blob in the path of the request that was answered; empty if it has none.
func (f failure) requestedBlob() string {
	if f.answer.Request == nil {
		return ""
	}
	_, blob, _ := strings.Cut(f.answer.Request.URL.Path, "/blobs/")
	return blob
}

// asked reports whether the answer is to a request for a part of a repository, as "/manifests/". The token service and the host of blobs have others.
func (f failure) asked(part string) bool {
	request := f.answer.Request
	return request == nil || request.URL.Host == f.registry && strings.Contains(request.URL.Path, part)
}

// elsewhere reports whether another host answered than the registry, to which it had redirected the request for a blob.
func (f failure) elsewhere() bool {
	return f.blob != "" && f.answer.Request != nil && f.answer.Request.URL.Host != f.registry
}

// where names the registry, or the host to which it has referred a request that got no answer.
func (f failure) where() string {
	var request *url.Error
	if errors.As(f.err, &request) {
		if asked, err := url.Parse(request.URL); err == nil && asked.Host != "" && asked.Host != f.registry {
			return fmt.Sprintf("%s, to which registry %s refers,", asked.Hostname(), f.registry)
		}
	}
	return "registry " + f.registry
}

// what names the blob, or else the image.
func (f failure) what() string {
	if f.blob != "" {
		return "blob " + f.blob + " of image " + f.image
	}
	return "image " + f.image
}

// says returns what the registry says in its answer, in the form that the distribution specification has for it.
func (f failure) says() string {
	var said []string
	for _, each := range f.answer.Errors {
		said = append(said, cmp.Or(each.Message, string(each.Code)))
	}
	if len(said) == 0 {
		return ""
	}
	return ": " + quoted(strings.Join(said, "; "))
}

func (f failure) status() string { return fmt.Sprintf("HTTP %d", f.answer.StatusCode) }

// answered returns whether an answer has one of these codes.
func answered(codes ...int) func(failure) bool {
	return func(f failure) bool {
		if f.answer == nil {
			return false
		}
		for _, code := range codes {
			if f.answer.StatusCode == code {
				return true
			}
		}
		return false
	}
}

var (
	isMissingAnswer = answered(http.StatusNotFound)
	isDenied        = answered(http.StatusUnauthorized, http.StatusForbidden)
	isRefused       = answered(http.StatusBadRequest, http.StatusMethodNotAllowed)
)
