#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  github.com/google/go-containerregistry v0.21.7
# Guess:     A registry is asked over TLS unless name.Insecure says otherwise. Where its certificate is not trusted, the error
#            is that of the certificate.
# Behaviour: A registry at a private IPv4 address, or on this machine, is asked over TLS and plain HTTP, whatever the options
#            are, and plain HTTP is used if TLS fails. Names such as registry.local, and private IPv6 addresses, are not. If both
#            fail the error is a list: errors.As finds in it the certificate, and also an answer of the registry, that the plain
#            request was a bad one.
# Seen:      what expect compares below.
# Source:    Registry.Scheme in pkg/name/registry.go, and pingParallel in pkg/v1/remote/transport/ping.go of the library
# Here:      agent/image/insecure.go refuses plain HTTP below the library, except for registries that the host's configuration
#            lists. agent/image/causes.go looks for the certificate first.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules github.com/google/go-containerregistry@v0.21.7
go_run <<'GO'
package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

func main() {
	for _, address := range []string{"registry.example.com", "10.0.0.5", "192.168.1.5:5000", "127.0.0.1:5000", "registry.local", "[fd00::1]:5000"} {
		registry, err := name.NewRegistry(address)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s\n", address, registry.Scheme())
	}

	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	image, err := name.ParseReference(strings.TrimPrefix(server.URL, "https://") + "/repository:tag")
	if err != nil {
		panic(err)
	}
	_, err = remote.Get(image)
	certificate, answer := &tls.CertificateVerificationError{}, &transport.Error{}
	fmt.Println("a certificate that is not trusted:", errors.As(err, &certificate))
	fmt.Println("an answer of the registry:", errors.As(err, &answer), answer.Request.URL.Scheme, answer.StatusCode)
}
GO
expect <<'SEEN'
registry.example.com: https
10.0.0.5: http
192.168.1.5:5000: http
127.0.0.1:5000: http
registry.local: https
[fd00::1]:5000: https
a certificate that is not trusted: true
an answer of the registry: true http 400
SEEN
