// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// cause of a failure, its class, and its text.
type cause struct {
	// is reports whether a failure has this cause, and a detail for the text.
	is func(failure) (detail string, is bool)
	// final is whether no retry can help this image.
	final bool
	text  func(f failure, detail string) string
}

const (
	noTLS = "it does not speak TLS"
	// onlyVerified tells an operator how to allow such a registry.
	onlyVerified = "images are only fetched over verified TLS, except those that agent.insecureRegistries lists in the host's configuration, " +
		"which is spec.config.elemental of the ElementalRegistration"
	useNames = "give that host a name in the registry's configuration, see \"A private registry\" in the documentation"
)

// causes in the order in which they are looked for: the first that a failure has is its cause.
var causes = []cause{
	{final: true, is: has(tlsReason), text: func(f failure, detail string) string {
		return fmt.Sprintf("%s: %s; %s", strings.TrimSuffix(f.where(), ","), detail, onlyVerified)
	}},
	{final: true, is: found(privateAddress), text: func(f failure, detail string) string {
		return fmt.Sprintf("registry %s refers to a private address for %s, which is refused: %s; %s", f.registry, f.what(), detail, useNames)
	}},
	{final: true, is: found(noDigest), text: func(f failure, detail string) string {
		return fmt.Sprintf("image %s has a digest that is not of sha256 (%s): push it again with sha256 digests", f.image, detail)
	}},
	{final: true, is: when(func(f failure) bool { return errors.Is(f.err, remote.ErrSchema1) }), text: func(f failure, _ string) string {
		return fmt.Sprintf("image %s has a manifest of an unsupported media type (schema 1): push it again as an OCI image", f.image)
	}},
	{final: true, is: when(func(f failure) bool { return isMissingAnswer(f) && f.blob == "" && f.asked("/manifests/"+f.manifest) }), text: func(f failure, _ string) string {
		return fmt.Sprintf("image %s does not exist in registry %s: check osVersion.imageURI", f.image, f.registry)
	}},
	{is: when(func(f failure) bool { return isMissingAnswer(f) && f.blob != "" }), text: func(f failure, _ string) string {
		return fmt.Sprintf("registry %s does not have %s, of which it has the manifest: push the image again if that lasts", f.registry, f.what())
	}},
	{final: true, is: when(func(f failure) bool { return isDenied(f) && !f.elsewhere() }), text: func(f failure, _ string) string {
		return fmt.Sprintf("registry %s denies access to image %s (%s): check the name, and the host's registry credentials%s",
			f.registry, f.image, f.status(), f.says())
	}},
	{final: true, is: when(func(f failure) bool { return isRefused(f) && !f.elsewhere() }), text: func(f failure, _ string) string {
		return fmt.Sprintf("registry %s refuses the request for image %s (%s)%s", f.registry, f.image, f.status(), f.says())
	}},
	{is: when(func(f failure) bool {
		return f.answer != nil && f.answer.Request != nil && f.answer.Request.URL.Host != f.registry
	}), text: func(f failure, _ string) string {
		return fmt.Sprintf("%s, to which registry %s refers, answers %s for %s%s", f.answer.Request.URL.Hostname(), f.registry, f.status(), f.what(), f.says())
	}},
	{is: when(func(f failure) bool { return f.answer != nil }), text: func(f failure, _ string) string {
		return fmt.Sprintf("registry %s answers %s for %s%s", f.registry, f.status(), f.what(), f.says())
	}},
	{final: true, is: has(localReason), text: func(f failure, detail string) string {
		return fmt.Sprintf("image %s cannot be stored in the agent's work directory: %s", f.image, detail)
	}},
	{is: found(damaged), text: func(f failure, _ string) string {
		return fmt.Sprintf("registry %s sent another content than the digest or size of %s", f.registry, f.what())
	}},
	{is: has(networkReason), text: func(f failure, detail string) string {
		return fmt.Sprintf("%s cannot be reached for %s: %s", f.where(), f.what(), detail)
	}},
	// The library falls back to plain HTTP when TLS fails, and joins both errors. Alone, errPlainHTTP means that the registry redirects to plain HTTP.
	{final: true, is: when(func(f failure) bool { return errors.Is(f.err, errPlainHTTP) && !fellBack.MatchString(f.err.Error()) }), text: func(f failure, _ string) string {
		return fmt.Sprintf("registry %s: %s; %s", f.registry, noTLS, onlyVerified)
	}},
	{is: when(func(failure) bool { return true }), text: func(f failure, _ string) string {
		return fmt.Sprintf("%s cannot be reached for %s: the transfer failed: %s", f.where(), f.what(), quoted(fellBack.ReplaceAllString(f.err.Error(), "")))
	}},
}

func when(is func(failure) bool) func(failure) (string, bool) {
	return func(f failure) (string, bool) { return "", is(f) }
}

func has(reason func(error) string) func(failure) (string, bool) {
	return func(f failure) (string, bool) {
		detail := reason(f.err)
		return detail, detail != ""
	}
}

// found matches the text of errors for which the library has no type; the detail is what matched.
func found(text *regexp.Regexp) func(failure) (string, bool) {
	return func(f failure) (string, bool) {
		detail := text.FindString(f.err.Error())
		return quoted(detail), detail != ""
	}
}

// Texts of errors.
// Source: go-containerregistry v0.21.7, checkRedirectSSRF, validateRealmURL, validateForeignURL, Hash.parse, verify and fetcher.
var (
	privateAddress = regexp.MustCompile(`SSRF protection: .*|(realm|foreign layer URL) host "[^"]*" is a private or link-local address`)
	noDigest       = regexp.MustCompile(`unsupported hash: .*|cannot parse hash: .*|wrong number of hex digits for .*|found non-hex character in hash: .*`)
	fellBack       = regexp.MustCompile(`; [^;]*` + errPlainHTTP.Error() + `$`)
	damaged        = regexp.MustCompile(`error verifying (sha256 checksum|size)|does not match (requested digest|expected size)|its content has digest`)
)

func networkReason(err error) string {
	var (
		resolution *net.DNSError
		network    net.Error
	)
	switch {
	case errors.As(err, &resolution):
		return "its name cannot be resolved"
	case errors.Is(err, errTooSlow):
		return errTooSlow.Error()
	case errors.Is(err, errTooLarge):
		return errTooLarge.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection is refused"
	case errors.Is(err, syscall.ENOSPC):
		return "there is no space left for the download"
	case errors.As(err, &network) && network.Timeout():
		return "the request timed out"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		return "the connection was interrupted"
	}
	return ""
}

// localReason is why nothing can be written; a full disk may be so for a while only.
func localReason(err error) string {
	if errors.Is(err, syscall.EROFS) {
		return "its file system is read-only: repair the persistent partition of the host"
	}
	return ""
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
