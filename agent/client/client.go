// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	// requestTimeout bounds every request except the long poll.
	requestTimeout = 30 * time.Second
	// pollGrace is how long after the requested time the response to a long poll may arrive.
	pollGrace = 30 * time.Second
	// maxBody is the largest response that is read, in bytes; bootstrap data can be a whole Secret.
	maxBody = 2 << 20
)

// Client of the Elemental API, for one host of one registration. It is safe for concurrent use.
type Client struct {
	uri       string
	token     string
	userAgent string
	identity  *identity.Identity
	smbios    func() map[string]string
	clock     system.Clock
	http      *http.Client
}

// Options of a Client.
type Options struct {
	// URI of the registration; it is the audience of the host's tokens too.
	URI string
	// Token of the registration.
	Token string
	// Identity of the host.
	Identity *identity.Identity
	// SMBIOS returns the SMBIOS fields of the host, by the names in package internal/smbios. It is called at registration. Default: none.
	SMBIOS func() map[string]string
	// Transport for the requests, usually made with NewTransport.
	Transport http.RoundTripper
	// Clock for the times in tokens.
	Clock system.Clock
	// UserAgent names the agent and its version.
	UserAgent string
}

// New returns a client.
func New(options Options) *Client {
	if options.SMBIOS == nil {
		options.SMBIOS = func() map[string]string { return nil }
	}
	return &Client{
		uri:       strings.TrimSuffix(options.URI, "/"),
		token:     options.Token,
		userAgent: options.UserAgent,
		identity:  options.Identity,
		smbios:    options.SMBIOS,
		clock:     options.Clock,
		http:      &http.Client{Transport: options.Transport, CheckRedirect: noRedirect},
	}
}

// Registration returns the registration's configuration for its hosts.
func (c *Client) Registration(ctx context.Context) (wire.Registration, error) {
	answer := wire.Registration{}
	call := call{doing: "reading the registration", method: http.MethodGet, asRegistration: true, timeout: requestTimeout}
	_, err := c.do(ctx, call, &answer)
	return answer, err
}

// Register registers the host. It can be repeated: the same name and key are the same host.
func (c *Client) Register(ctx context.Context) error {
	key, err := c.identity.PublicKey()
	if err != nil {
		return err
	}
	call := call{
		doing: "registering the host", method: http.MethodPost, path: "hosts", asRegistration: true, asHost: true,
		body: wire.HostCreate{Name: c.identity.Name, PubKey: key, SMBIOS: c.smbios()}, timeout: requestTimeout,
	}
	_, err = c.do(ctx, call, nil)
	return err
}

// Desired returns the desired state of the host. The API keeps the request pending for at most wait while its revision is the given one;
// changed is false after that time.
func (c *Client) Desired(ctx context.Context, revision string, wait time.Duration) (desired wire.Desired, changed bool, err error) {
	query := url.Values{"wait": {wait.String()}}
	if revision != "" {
		query.Set("revision", revision)
	}
	call := call{
		doing: "reading the desired state", method: http.MethodGet, path: c.hostPath("desired"), query: query, asHost: true,
		timeout: wait + pollGrace,
	}
	status, err := c.do(ctx, call, &desired)
	return desired, status == http.StatusOK, err
}

// Report reports the host's whole status.
func (c *Client) Report(ctx context.Context, report wire.Report) error {
	call := call{
		doing: "reporting", method: http.MethodPost, path: c.hostPath("report"), asHost: true, body: report,
		timeout: requestTimeout,
	}
	_, err := c.do(ctx, call, nil)
	return err
}

// Bootstrap returns the bootstrap data; ErrNotFound while there is none.
func (c *Client) Bootstrap(ctx context.Context) (wire.Bootstrap, error) {
	answer := wire.Bootstrap{}
	call := call{
		doing: "reading the bootstrap data", method: http.MethodGet, path: c.hostPath("bootstrap"), asHost: true,
		timeout: requestTimeout,
	}
	_, err := c.do(ctx, call, &answer)
	return answer, err
}

// ResetOptions returns how to reset the host.
func (c *Client) ResetOptions(ctx context.Context) (wire.Reset, error) {
	answer := wire.Reset{}
	call := call{
		doing: "reading how to reset the host", method: http.MethodGet, path: c.hostPath("reset"), asHost: true,
		timeout: requestTimeout,
	}
	_, err := c.do(ctx, call, &answer)
	return answer, err
}

// Delete reports that the host is being reset. It is no error if the host is unknown.
func (c *Client) Delete(ctx context.Context) error {
	return c.leave(ctx, call{doing: "deleting the host", method: http.MethodDelete, path: c.hostPath("")})
}

// Wiped reports that the host has been wiped. It is no error if the host is unknown.
func (c *Client) Wiped(ctx context.Context) error {
	return c.leave(ctx, call{doing: "reporting that the host is wiped", method: http.MethodPost, path: c.hostPath("wiped")})
}

func (c *Client) leave(ctx context.Context, call call) error {
	call.asHost, call.timeout = true, requestTimeout
	status, err := c.do(ctx, call, nil)
	if status == http.StatusNotFound {
		return nil
	}
	return err
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func (c *Client) hostPath(resource string) string {
	path := "hosts/" + url.PathEscape(c.identity.Name)
	if resource == "" {
		return path
	}
	return path + "/" + resource
}

// call is one request.
type call struct {
	doing          string
	method         string
	path           string
	query          url.Values
	body           any
	asRegistration bool
	asHost         bool
	timeout        time.Duration
	// over, if not nil, is set to the TLS state of the connection, which is a new one.
	over *tls.ConnectionState
}

// do returns the status of the response (0 without one) and decodes a body of status 200 into answer.
func (c *Client) do(ctx context.Context, call call, answer any) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, call.timeout)
	defer cancel()
	request, err := c.request(ctx, call)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", call.doing, err)
	}
	response, err := c.clientFor(call).Do(request)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", call.doing, explained(err))
	}
	defer response.Body.Close()
	if call.over != nil && response.TLS != nil {
		*call.over = *response.TLS
	}
	if response.StatusCode >= http.StatusMultipleChoices && response.StatusCode != http.StatusNotModified {
		return response.StatusCode, readError(call.doing, response)
	}
	if err := decode(response, answer); err != nil {
		return response.StatusCode, fmt.Errorf("%s: %w", call.doing, err)
	}
	return response.StatusCode, nil
}

func (c *Client) clientFor(call call) *http.Client {
	transport, can := c.http.Transport.(interface{ Fresh() http.RoundTripper })
	if call.over == nil || !can {
		return c.http
	}
	fresh := *c.http
	fresh.Transport = transport.Fresh()
	return &fresh
}

// noRedirect keeps tokens from being sent to any other endpoint than the registration's.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func decode(response *http.Response, answer any) error {
	body := io.LimitReader(response.Body, maxBody)
	if answer == nil || response.StatusCode != http.StatusOK {
		// A connection is reused only if its body was read.
		_, err := io.Copy(io.Discard, body)
		return err
	}
	content, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return fmt.Errorf("decoding the answer: %w", err)
	}
	return nil
}

func (c *Client) request(ctx context.Context, call call) (*http.Request, error) {
	target := c.uri
	if call.path != "" {
		target += "/" + call.path
	}
	if len(call.query) > 0 {
		target += "?" + call.query.Encode()
	}
	var body io.Reader
	if call.body != nil {
		encoded, err := json.Marshal(call.body)
		if err != nil {
			return nil, fmt.Errorf("encoding the request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, call.method, target, body)
	if err != nil {
		return nil, err
	}
	return request, c.setHeaders(request, call)
}

func (c *Client) setHeaders(request *http.Request, call call) error {
	request.Header.Set("User-Agent", c.userAgent)
	request.Header.Set("Accept", "application/json")
	if call.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if call.asRegistration {
		request.Header.Set(wire.RegistrationHeader, "Bearer "+c.token)
	}
	if !call.asHost {
		return nil
	}
	token, err := c.identity.Token(c.uri, c.clock.Now())
	if err != nil {
		return err
	}
	request.Header.Set(wire.HostHeader, "Bearer "+token)
	return nil
}
