// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// ErrUnusableAuthorities says that what the API wants to be known by is not what it can be known by now.
var ErrUnusableAuthorities = errors.New("the certificate authorities that the Elemental API hands out are not taken")

const unknownAuthority = "the API's certificate is signed by an authority that registration.caCert of the agent's configuration does not have: " +
	"if the API has another one by now, copy caCert and token from spec.config.elemental.registration of the ElementalRegistration into the " +
	`configuration, and run "elemental-agent register --install"`

// Authorities asks what the API is to be known by from now on, PEM-encoded. They have come over a connection that was verified by
// what is trusted already, and the API's certificate on that connection is one of theirs, so that they can take the place of what
// is trusted. Without that whoever can answer once could lock the host out. ErrNotFound where the API has none.
func (c *Client) Authorities(ctx context.Context) (string, error) {
	answer, over := wire.Authorities{}, tls.ConnectionState{}
	call := call{
		doing: "reading the API's certificate authorities", method: http.MethodGet, path: c.hostPath("authorities"), asHost: true,
		timeout: requestTimeout, over: &over,
	}
	if _, err := c.do(ctx, call, &answer); err != nil {
		return "", err
	}
	if err := checkAuthorities(answer.CACert, over); err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnusableAuthorities, err)
	}
	return answer.CACert, nil
}

func checkAuthorities(bundle string, over tls.ConnectionState) error {
	if len(over.VerifiedChains) == 0 {
		return errors.New("the connection that they have come over is not verified")
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(bundle)) {
		return errors.New("there is no PEM-encoded certificate among them")
	}
	between := x509.NewCertPool()
	for _, certificate := range over.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	if _, err := over.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: between}); err != nil {
		return fmt.Errorf("the certificate that the API has now is of none of them: keep its authority in ca.crt beside the new one: %w", err)
	}
	return nil
}

// explained says what to do about an API that has another authority by now: the host was off, or could not reach it, while it had both.
func explained(err error) error {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w: %s", err, unknownAuthority)
	}
	return err
}
