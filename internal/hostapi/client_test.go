// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// answer of the server.
type answer struct {
	status int
	header http.Header
	body   []byte
	// last is true when the server closes the connection after it.
	last     bool
	protocol string
}

// message of a failure; it checks that the body is the one of failures.
func (a answer) message() string {
	GinkgoHelper()
	failure := wire.Error{}
	Expect(json.Unmarshal(a.body, &failure)).To(Succeed(), "body %q", a.body)
	Expect(failure.Code).To(Equal(a.status))
	Expect(failure.Message).NotTo(BeEmpty())
	return failure.Message
}

func into[T any](a answer) T {
	GinkgoHelper()
	var value T
	Expect(a.status).To(Equal(http.StatusOK), "body %s", a.body)
	Expect(json.Unmarshal(a.body, &value)).To(Succeed(), "body %s", a.body)
	return value
}

// header is set on a request.
type header struct{ name, value string }

func asRegistration(endpoint *apitest.RegistrationEndpoint) header {
	return header{wire.RegistrationHeader, "Bearer " + endpoint.Token}
}

// request sends one request below a registration's URI. It does not assert, so that it can be polled and
// run on goroutines; a connection that broke is status 0.
func request(ctx context.Context, by *http.Client, method, url string, body any, headers ...header) answer {
	var content io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		content = bytes.NewBufferString(body)
	case io.Reader:
		content = body
	default:
		encoded, err := json.Marshal(body)
		if err != nil {
			return answer{body: []byte(err.Error())}
		}
		content = bytes.NewReader(encoded)
	}
	made, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return answer{body: []byte(err.Error())}
	}
	for _, one := range headers {
		made.Header.Set(one.name, one.value)
	}
	response, err := by.Do(made)
	if err != nil {
		return answer{body: []byte(err.Error())}
	}
	defer response.Body.Close()
	read, _ := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: read, last: response.Close, protocol: response.Proto}
}

func get(ctx context.Context, endpoint *apitest.RegistrationEndpoint, path string, headers ...header) answer {
	return request(ctx, shared, http.MethodGet, endpoint.URI+path, nil, headers...)
}

// machine is a host as its agent sees it.
type machine struct {
	endpoint *apitest.RegistrationEndpoint
	name     string
	key      ed25519.PrivateKey
}

func newMachine(endpoint *apitest.RegistrationEndpoint, name string) *machine {
	GinkgoHelper()
	_, key, err := ed25519.GenerateKey(nil)
	Expect(err).NotTo(HaveOccurred())
	return &machine{endpoint: endpoint, name: name, key: key}
}

func (m *machine) pubKey() string {
	GinkgoHelper()
	pem, err := token.EncodePublicKey(m.key.Public().(ed25519.PublicKey))
	Expect(err).NotTo(HaveOccurred())
	return pem
}

func (m *machine) auth() header {
	signed, err := token.SignHostToken(m.key, m.name, m.endpoint.URI, time.Now())
	if err != nil {
		return header{wire.HostHeader, err.Error()}
	}
	return header{wire.HostHeader, "Bearer " + signed}
}

func (m *machine) create() wire.HostCreate { return wire.HostCreate{Name: m.name, PubKey: m.pubKey()} }

func (m *machine) register(ctx context.Context, body any) answer {
	return request(ctx, shared, http.MethodPost, m.endpoint.URI+"/hosts", body, asRegistration(m.endpoint), m.auth())
}

func (m *machine) url(path string) string { return m.endpoint.URI + "/hosts/" + m.name + path }

func (m *machine) get(ctx context.Context, path string) answer {
	return request(ctx, shared, http.MethodGet, m.url(path), nil, m.auth())
}

func (m *machine) report(ctx context.Context, body any) answer {
	return request(ctx, shared, http.MethodPost, m.url("/report"), body, m.auth())
}

func (m *machine) forget(ctx context.Context) answer {
	return request(ctx, shared, http.MethodDelete, m.url(""), nil, m.auth())
}

func (m *machine) wiped(ctx context.Context) answer {
	return request(ctx, shared, http.MethodPost, m.url("/wiped"), nil, m.auth())
}

// remove force-deletes the host.
func (m *machine) remove(ctx context.Context) {
	GinkgoHelper()
	host := m.change(ctx, func(host *infrav1.ElementalHost) { host.Finalizers = nil })
	Expect(plane.Client.Delete(ctx, host)).To(Succeed())
}

// object is the host in the API server.
func (m *machine) object(ctx context.Context) *infrav1.ElementalHost {
	GinkgoHelper()
	host := &infrav1.ElementalHost{}
	Expect(plane.Client.Get(ctx, client.ObjectKey{Namespace: m.endpoint.Namespace, Name: m.name}, host)).To(Succeed())
	return host
}

// change patches the host as a controller or an operator would.
func (m *machine) change(ctx context.Context, change func(*infrav1.ElementalHost)) *infrav1.ElementalHost {
	GinkgoHelper()
	host := m.object(ctx)
	before := host.DeepCopy()
	change(host)
	Expect(plane.Client.Patch(ctx, host, client.MergeFrom(before))).To(Succeed())
	return host
}

// registered makes a host that the server knows.
func registered(ctx context.Context, endpoint *apitest.RegistrationEndpoint, name string) *machine {
	GinkgoHelper()
	host := newMachine(endpoint, name)
	Expect(host.register(ctx, host.create()).status).To(Equal(http.StatusCreated))
	return host
}

// world is all that the host API can change in a namespace: versions of hosts.
func world(ctx context.Context, namespace string) map[string]string {
	GinkgoHelper()
	hosts := &infrav1.ElementalHostList{}
	Expect(plane.Client.List(ctx, hosts, client.InNamespace(namespace))).To(Succeed())
	versions := map[string]string{}
	for _, host := range hosts.Items {
		versions[host.Name] = host.ResourceVersion
	}
	return versions
}
