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

// ErrUnusableAuthorities says that the published authorities do not verify the API's present certificate.
var ErrUnusableAuthorities = errors.New("the certificate authorities that the Elemental API publishes cannot be used")

const unknownAuthority = "the API's certificate is signed by an authority that registration.caCert of the agent's configuration does not have: " +
	"if the API has another one by now, copy status.caCert of the ElementalRegistration, and the token from the Secret that its " +
	`status.tokenSecretName names, into the configuration, and run "elemental-agent register --install"`

// Authorities returns the published authorities of the API, PEM-encoded. They are received over a connection that is verified by the trusted
// authorities, and the API's certificate on that connection must be signed by one of them; otherwise a single forged response could lock the
// host out. ErrNotFound if the API publishes none.
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
		return errors.New("the connection is not verified")
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(bundle)) {
		return errors.New("they contain no PEM-encoded certificate")
	}
	between := x509.NewCertPool()
	for _, certificate := range over.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	if _, err := over.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: between}); err != nil {
		return fmt.Errorf("none of them has signed the API's present certificate: keep its authority in ca.crt beside the new one: %w", err)
	}
	return nil
}

// explained adds what to do if the API's authority was replaced while the host was off or could not reach it.
func explained(err error) error {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w: %s", err, unknownAuthority)
	}
	return err
}
