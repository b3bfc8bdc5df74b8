// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// hostClient sends the requests of one host.
type hostClient struct {
	name, uri string
	key       ed25519.PrivateKey
	http      *http.Client
}

// hostClient of a host that trusts the CA of the lab's Elemental API.
func (c *formerCluster) hostClient(name string) *hostClient {
	GinkgoHelper()
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(c.Management.Authority().CertPEM)).To(BeTrue())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	DeferCleanup(transport.CloseIdleConnections)
	return &hostClient{
		name: name, key: c.keys[name], uri: token.RegistrationURI("https://"+c.ElementalAPI(), formerNamespace, formerRegistration),
		http: &http.Client{Transport: transport, Timeout: specs.Patience},
	}
}

// send returns the status code of the answer.
func (h *hostClient) send(ctx context.Context, method, path, signed string, body any) (int, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return 0, fmt.Errorf("encoding a request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, method, h.uri+"/hosts/"+h.name+path, bytes.NewReader(content))
	if err != nil {
		return 0, fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set(wire.HostHeader, "Bearer "+signed)
	response, err := h.http.Do(request)
	if err != nil {
		return 0, fmt.Errorf("sending a request: %w", err)
	}
	return response.StatusCode, response.Body.Close()
}

// patch is the request that the loop of an agent of version 0.7 repeats.
func (h *hostClient) patch(ctx context.Context) (int, error) {
	now := time.Now()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.RegisteredClaims{
		Issuer: "elemental-agent/" + formerTag, Subject: h.name, Audience: jwt.ClaimStrings{h.uri}, IssuedAt: jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now.Add(-2 * time.Second)), ExpiresAt: jwt.NewNumericDate(now.Add(time.Minute)),
	}).SignedString(h.key)
	if err != nil {
		return 0, fmt.Errorf("signing a token: %w", err)
	}
	return h.send(ctx, http.MethodPatch, "", signed, map[string]string{"phase": "Running"})
}

// report is the first report of a current agent on the host: with the same key, and bootstrapped.
func (h *hostClient) report(ctx context.Context) (int, error) {
	signed, err := token.SignHostToken(h.key, h.name, h.uri, time.Now())
	if err != nil {
		return 0, fmt.Errorf("signing a token: %w", err)
	}
	return h.send(ctx, http.MethodPost, "/report", signed, wire.Report{
		AgentVersion: tag, Phase: wire.HostRunning, Installed: true, Bootstrapped: true, OS: wire.OS{ImageURI: formerImage, BootID: "boot-1"},
	})
}

// formerAgent repeats the request of an agent of version 0.7 until it is stopped. It logs nothing and does nothing else, whatever the answer.
type formerAgent struct {
	last atomic.Int64
	stop func()
}

func startFormerAgent(host *hostClient) *formerAgent {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	agent := &formerAgent{stop: func() { stop(); <-ended }}
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			status, err := host.patch(ctx)
			if err == nil {
				agent.last.Store(int64(status))
			} else if errors.Is(err, context.Canceled) {
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond): // its own interval is ten seconds
			}
		}
	}()
	DeferCleanup(agent.stop)
	return agent
}
