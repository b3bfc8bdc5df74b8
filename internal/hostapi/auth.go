// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"crypto/ed25519"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	registrationToken = "registration token"
	hostToken         = "host token"
)

// authenticateRegistration returns the registration in the path if the request has a token of it.
func (s *Server) authenticateRegistration(r *http.Request) (*infrav1.ElementalRegistration, error) {
	raw, err := bearer(r, wire.RegistrationHeader, registrationToken)
	if err != nil {
		return nil, err
	}
	name := registrationOf(r)
	registration, err := s.registrations.get(r.Context(), name)
	if err != nil {
		return nil, err
	}
	key, err := s.registrations.verificationKey(r.Context(), registration)
	if err != nil {
		return nil, err
	}
	uris := s.registrations.uris(r.Context(), name)
	if err := token.VerifyRegistrationToken(raw, key, uris, s.clock.Now()); err != nil {
		return nil, refuseToken(registrationToken, err)
	}
	authenticated(r)
	return registration, nil
}

// authenticated is called once a token has been verified. If a body follows, decodeBody does the rest.
func authenticated(r *http.Request) {
	if r.ContentLength == 0 {
		proven(r)
	}
}

// caller holds the key of an existing host or, if denied is set, of a deleted one whose key is denied.
type caller struct {
	host   *infrav1.ElementalHost
	denied *infrav1.DeniedKey
}

// authenticateHost returns the host in the path if the request is signed with its key. A host is only served at the registration through
// which it registered.
func (s *Server) authenticateHost(r *http.Request) (*infrav1.ElementalHost, error) {
	caller, err := s.authenticate(r)
	if err == nil && caller.denied != nil {
		err = refuseDenied(caller.denied, registrationOf(r).Name)
	}
	return caller.host, err
}

// authenticate also accepts hosts whose key is denied, for the requests by which they reset themselves.
func (s *Server) authenticate(r *http.Request) (caller, error) {
	raw, err := bearer(r, wire.HostHeader, hostToken)
	if err != nil {
		return caller{}, err
	}
	name, registration := hostOf(r), registrationOf(r)
	uris := s.registrations.uris(r.Context(), registration)
	if err := token.CheckHostClaims(raw, name.Name, uris); err != nil {
		return caller{}, refuseToken(hostToken, err)
	}
	host, err := s.hosts.get(r.Context(), name)
	if err == nil {
		err = s.verifyHost(raw, host, uris)
	}
	if err != nil {
		denied := s.findDenied(r, raw, uris)
		switch {
		case denied == nil:
			return caller{}, err
		case denied.Reset == "":
			return caller{}, refuseDenied(denied, registration.Name)
		}
		authenticated(r)
		return caller{denied: denied}, nil
	}
	if came := host.Annotations[infrav1.RegistrationNameAnnotation]; came != registration.Name {
		return caller{}, refuse(http.StatusForbidden, "host %s came through registration %q, not %q", host.Name, came, registration.Name)
	}
	authenticated(r)
	return caller{host: host}, nil
}

func (s *Server) verifyHost(raw string, host *infrav1.ElementalHost, uris token.Audience) error {
	key, err := token.ParsePublicKey(host.Spec.PubKey)
	if err != nil {
		return refuse(http.StatusUnauthorized, "host %s has no usable key: delete the ElementalHost and register again", host.Name)
	}
	if err := token.VerifyHostToken(raw, key, host.Name, uris, s.clock.Now()); err != nil {
		return refuseToken(hostToken, err)
	}
	return nil
}

// proveKey requires a host token from a host that does not exist yet: registering a key takes its private part.
func (s *Server) proveKey(r *http.Request, name string, key ed25519.PublicKey) error {
	raw, err := bearer(r, wire.HostHeader, hostToken)
	if err != nil {
		return err
	}
	uris := s.registrations.uris(r.Context(), registrationOf(r))
	if err := token.VerifyHostToken(raw, key, name, uris, s.clock.Now()); err != nil {
		return refuseToken(hostToken, err)
	}
	return nil
}

// bearer reads a token from a header: "Bearer <token>", the scheme in any case (RFC 9110, 11.1).
func bearer(r *http.Request, header, which string) (string, error) {
	scheme, raw, found := strings.Cut(r.Header.Get(header), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") || raw == "" {
		refusal := refuse(http.StatusUnauthorized, "%s is missing: send it as %q", which, header+": Bearer <token>")
		refusal.header = http.Header{"Www-Authenticate": {"Bearer"}}
		return "", refusal
	}
	return raw, nil
}

func registrationOf(r *http.Request) types.NamespacedName {
	return types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("registration")}
}

func hostOf(r *http.Request) types.NamespacedName {
	return types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("host")}
}
