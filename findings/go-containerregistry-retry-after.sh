#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  github.com/google/go-containerregistry v0.21.7
# Guess:     A registry that answers 429 with Retry-After is asked again after that time, or the error has the time, so that the
#            caller can wait for it.
# Behaviour: The library asks three times, by a backoff of its own that does not know the header. The error has the code, the
#            request and the registry's errors, but no header: the caller cannot know how long to wait.
# Seen:      what expect compares below. The registry asks for half a minute; the three requests are over within seconds.
# Source:    pkg/v1/remote/transport/error.go (Error, CheckError), and pkg/v1/remote/transport/retry.go and
#            pkg/v1/remote/options.go of the library
# Here:      agent/image/asked.go notes the header in a RoundTripper below the library, and the agent waits for it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules github.com/google/go-containerregistry@v0.21.7
go_run <<'GO'
package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

func main() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		requests++
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}`)
	}))
	defer server.Close()
	image, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/repository:tag")
	if err != nil {
		panic(err)
	}
	start := time.Now()
	_, err = remote.Get(image)
	fmt.Println("requests:", requests)
	fmt.Println("waited for Retry-After:", time.Since(start) >= 30*time.Second)
	refused := &transport.Error{}
	if !errors.As(err, &refused) {
		panic(err)
	}
	fmt.Println("code:", refused.StatusCode)
	for i := range reflect.TypeFor[transport.Error]().NumField() {
		if field := reflect.TypeFor[transport.Error]().Field(i); field.IsExported() {
			fmt.Println("field of the error:", field.Name)
		}
	}
}
GO
expect <<'SEEN'
requests: 3
waited for Retry-After: false
code: 429
field of the error: Errors
field of the error: StatusCode
field of the error: Request
SEEN
