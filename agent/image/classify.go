// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

const (
	noTLS = "it does not speak TLS"
	// onlyVerified tells an operator how to allow such a registry.
	onlyVerified = "images are only fetched over verified TLS, except those that agent.insecureRegistries lists in the host's configuration, " +
		"which is spec.config.elemental of the ElementalRegistration"
)

// explain turns a registry's error into one that tells whether a retry can help. Its text must be the same for each retry.
func explain(ctx context.Context, reference name.Reference, err error) error {
	if err == nil || ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	var terminal *Terminal
	if errors.As(err, &terminal) {
		return err
	}
	if reason := tlsReason(err); reason != "" {
		return terminalf("registry %s: %s; %s", reference.Context().RegistryStr(), reason, onlyVerified)
	}
	var answer *transport.Error
	if errors.As(err, &answer) {
		return explainStatus(reference, answer)
	}
	reason, known := networkReason(err)
	// The library falls back to plain HTTP when TLS fails, so that errPlainHTTP usually comes with the actual reason. Alone, it means that
	// the registry redirects to plain HTTP.
	if !known && errors.Is(err, errPlainHTTP) {
		return terminalf("registry %s: %s; %s", reference.Context().RegistryStr(), noTLS, onlyVerified)
	}
	return &Unreachable{
		Message: fmt.Sprintf("registry %s cannot be reached for image %s: %s", reference.Context().RegistryStr(), reference.Name(), reason),
		Cause:   err,
	}
}

// Unreachable is an error that a retry may resolve. Its text is for operators; the cause has the details.
type Unreachable struct {
	Message string
	Cause   error
}

// Error is the message.
func (u *Unreachable) Error() string { return u.Message }

// Unwrap returns the cause.
func (u *Unreachable) Unwrap() error { return u.Cause }

func networkReason(err error) (reason string, known bool) {
	var (
		resolution *net.DNSError
		network    net.Error
	)
	switch {
	case errors.As(err, &resolution):
		return "its name cannot be resolved", true
	case errors.Is(err, errTooSlow):
		return errTooSlow.Error(), true
	case errors.Is(err, errTooLarge):
		return errTooLarge.Error(), true
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection is refused", true
	case errors.Is(err, syscall.ENOSPC):
		return "there is no space left for the download", true
	case errors.As(err, &network) && network.Timeout():
		return "the request timed out", true
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		return "the connection was interrupted", true
	}
	return "the transfer failed", false
}

func explainStatus(reference name.Reference, answer *transport.Error) error {
	registry, image := reference.Context().RegistryStr(), reference.Name()
	switch answer.StatusCode {
	case http.StatusNotFound:
		return terminalf("image %s does not exist in registry %s: check osVersion.imageUri", image, registry)
	case http.StatusUnauthorized, http.StatusForbidden:
		return terminalf("registry %s denies access to image %s (HTTP %d): check the name, and the host's registry credentials",
			registry, image, answer.StatusCode)
	case http.StatusBadRequest, http.StatusMethodNotAllowed:
		return terminalf("registry %s refuses the request for image %s (HTTP %d)", registry, image, answer.StatusCode)
	}
	return &Unreachable{Message: fmt.Sprintf("registry %s answers HTTP %d for image %s", registry, answer.StatusCode, image), Cause: answer}
}

func tlsReason(err error) string {
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return "its certificate is signed by an authority that the host does not trust"
	case errors.As(err, &hostname):
		return "its certificate is for another name"
	case errors.As(err, &invalid):
		return "its certificate is not valid (" + invalidReason(invalid) + ")"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return noTLS
	}
	return ""
}

func invalidReason(invalid x509.CertificateInvalidError) string {
	if invalid.Reason == x509.Expired {
		return "expired or not yet valid; check the host's clock"
	}
	return "not usable for a server"
}
