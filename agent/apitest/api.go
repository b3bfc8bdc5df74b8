// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	base = "/elemental/v1/namespaces/default/registrations/hosts"
	// Token that hosts register with.
	Token = "registration-token"
	// ComeBack is when a request that failed with 429 may be sent again.
	ComeBack = 2 * time.Second
)

// Host is a host as the API knows it.
type Host struct {
	// Created is the request that registered it.
	Created wire.HostCreate
	PubKey  string
	Desired wire.Desired
	Reports []wire.Report
	// Leaving is whether the host reported that it resets itself, but not yet that it is wiped.
	Leaving bool
}

// API is the server.
type API struct {
	server *httptest.Server

	lock    sync.Mutex
	changed chan struct{}
	hosts   map[string]*Host
	failing []int
	// requests served, as "METHOD resource".
	requests     []string
	bootstrap    *wire.Bootstrap
	config       json.RawMessage
	verification *wire.ImageVerification
	// presented is the certificate for new connections; nil for the server's own.
	presented *tls.Certificate
	// resumes allows the resumption of sessions with a former certificate.
	resumes bool
	// authorities that are published; none if empty.
	authorities string
	// rotated says that the registration's token was replaced.
	rotated bool
	// slow requests are held until the client gives up.
	slow bool
	held int
	// clock that the times in tokens are compared with.
	clock func() time.Time
}

// New starts an API; Close ends it.
func New() *API {
	api := &API{changed: make(chan struct{}), hosts: map[string]*Host{}, clock: time.Now}
	routes := http.NewServeMux()
	routes.HandleFunc("GET "+base, api.registration)
	routes.HandleFunc("POST "+base+"/hosts", api.create)
	routes.HandleFunc("GET "+base+"/hosts/{host}/desired", api.asHost(api.desired))
	routes.HandleFunc("POST "+base+"/hosts/{host}/report", api.asHost(api.report))
	routes.HandleFunc("GET "+base+"/hosts/{host}/bootstrap", api.asHost(api.bootstrapData))
	routes.HandleFunc("GET "+base+"/hosts/{host}/reset", api.asHost(api.resetOptions))
	routes.HandleFunc("GET "+base+"/hosts/{host}/authorities", api.asHost(api.knownBy))
	routes.HandleFunc("POST "+base+"/hosts/{host}/wiped", api.asHost(api.wiped))
	routes.HandleFunc("DELETE "+base+"/hosts/{host}", api.asHost(api.delete))
	api.server = httptest.NewUnstartedServer(api.count(routes))
	api.server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: api.configFor}
	api.server.StartTLS()
	return api
}

// Close ends the server and all requests that it holds.
func (a *API) Close() {
	a.server.CloseClientConnections()
	a.server.Close()
}

// SetClock has the API go by a clock, which the times in the tokens of hosts are compared with. Default: the time.
func (a *API) SetClock(now func() time.Time) { a.update(func() { a.clock = now }) }

func (a *API) now() time.Time {
	a.lock.Lock()
	defer a.lock.Unlock()
	return a.clock()
}

// URI of the registration.
func (a *API) URI() string { return a.server.URL + base }

// Desire changes the desired state of a host.
func (a *API) Desire(name string, desired wire.Desired) {
	a.update(func() {
		if host := a.hosts[name]; host != nil {
			desired.Revision = fmt.Sprintf("%d", len(a.requests)+int(time.Now().UnixNano()%1_000_000_000))
			host.Desired = desired
		}
	})
}

// Forget deletes a host without notifying it.
func (a *API) Forget(name string) { a.update(func() { delete(a.hosts, name) }) }

// Fail answers the next requests with these statuses.
func (a *API) Fail(statuses ...int) { a.update(func() { a.failing = append(a.failing, statuses...) }) }

// Drop closes all connections.
func (a *API) Drop() { a.server.CloseClientConnections() }

// Slow makes requests hang.
func (a *API) Slow(slow bool) { a.update(func() { a.slow = slow }) }

// SetBootstrap data of all hosts.
func (a *API) SetBootstrap(data *wire.Bootstrap) { a.update(func() { a.bootstrap = data }) }

// SetConfig is the configuration of the registration, as JSON.
func (a *API) SetConfig(config string) { a.update(func() { a.config = json.RawMessage(config) }) }

// Rotate makes the registration refuse the token that hosts know.
func (a *API) Rotate() { a.update(func() { a.rotated = true }) }

// SetImageVerification sets the rules for images, from the next registration on.
func (a *API) SetImageVerification(verification *wire.ImageVerification) {
	a.update(func() { a.verification = verification })
}

// Hosts are the names of all hosts, sorted.
func (a *API) Hosts() []string {
	a.lock.Lock()
	defer a.lock.Unlock()
	var names []string
	for name := range a.hosts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Reports of a host, oldest first.
func (a *API) Reports(name string) []wire.Report {
	a.lock.Lock()
	defer a.lock.Unlock()
	if host := a.hosts[name]; host != nil {
		return slices.Clone(host.Reports)
	}
	return nil
}

// Last returns the last report of a host; the zero value if there is none.
func (a *API) Last(name string) wire.Report {
	reports := a.Reports(name)
	if len(reports) == 0 {
		return wire.Report{}
	}
	return reports[len(reports)-1]
}

// Created returns the request that registered a host; the zero value if there is none.
func (a *API) Created(name string) wire.HostCreate {
	a.lock.Lock()
	defer a.lock.Unlock()
	if host := a.hosts[name]; host != nil {
		return host.Created
	}
	return wire.HostCreate{}
}

// Requests that were served, as "METHOD resource".
func (a *API) Requests() []string {
	a.lock.Lock()
	defer a.lock.Unlock()
	return slices.Clone(a.requests)
}

// Held returns how many requests for the desired state are pending.
func (a *API) Held() int {
	a.lock.Lock()
	defer a.lock.Unlock()
	return a.held
}

func (a *API) update(change func()) {
	a.lock.Lock()
	defer a.lock.Unlock()
	change()
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *API) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.lock.Lock()
		resource := strings.Trim(strings.TrimPrefix(r.URL.Path, base), "/")
		a.requests = append(a.requests, r.Method+" "+resource)
		status, slow := 0, a.slow
		if len(a.failing) > 0 {
			status, a.failing = a.failing[0], a.failing[1:]
		}
		a.lock.Unlock()
		if slow {
			// The server notices that a client has disconnected only once the body has been read.
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		if status != 0 {
			refuse(w, status, "asked to fail")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func refuse(w http.ResponseWriter, status int, message string) {
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(int(ComeBack.Seconds())))
	}
	w.WriteHeader(status)
	if status >= http.StatusBadRequest {
		answer(w, wire.Error{Code: status, Message: message})
	}
}

func answer(w http.ResponseWriter, body any) { _ = json.NewEncoder(w).Encode(body) }

func (a *API) registration(w http.ResponseWriter, r *http.Request) {
	if !a.knows(r) {
		refuse(w, http.StatusUnauthorized, "wrong registration token")
		return
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	answer(w, wire.Registration{Config: a.config, ImageVerification: a.verification})
}

// knows reports whether a request carries the registration's token.
func (a *API) knows(r *http.Request) bool {
	a.lock.Lock()
	defer a.lock.Unlock()
	return !a.rotated && r.Header.Get(wire.RegistrationHeader) == "Bearer "+Token
}

func (a *API) create(w http.ResponseWriter, r *http.Request) {
	request := wire.HostCreate{}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if !a.knows(r) || a.verify(r, request.Name, request.PubKey) != nil {
		refuse(w, http.StatusUnauthorized, "wrong token")
		return
	}
	status := http.StatusCreated
	a.update(func() {
		known := a.hosts[request.Name]
		if known != nil && (known.Leaving || known.PubKey != request.PubKey) {
			status = http.StatusConflict
		}
		if known == nil {
			a.hosts[request.Name] = &Host{Created: request, PubKey: request.PubKey, Desired: wire.Desired{Revision: "new"}}
		}
	})
	refuse(w, status, "the name belongs to another key")
}

func (a *API) verify(r *http.Request, name, key string) error {
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		return fmt.Errorf("no key")
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return err
	}
	token := strings.TrimPrefix(r.Header.Get(wire.HostHeader), "Bearer ")
	_, err = jwt.Parse(token, func(*jwt.Token) (any, error) { return public, nil }, jwt.WithTimeFunc(a.now),
		jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithSubject(name), jwt.WithAudience(a.URI()), jwt.WithExpirationRequired())
	return err
}

func (a *API) asHost(next func(http.ResponseWriter, *http.Request, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("host")
		a.lock.Lock()
		host := a.hosts[name]
		a.lock.Unlock()
		if host == nil {
			refuse(w, http.StatusNotFound, "there is no such host")
			return
		}
		if err := a.verify(r, name, host.PubKey); err != nil {
			refuse(w, http.StatusUnauthorized, err.Error())
			return
		}
		next(w, r, name)
	}
}

func (a *API) desired(w http.ResponseWriter, r *http.Request, name string) {
	wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	a.hold(1)
	defer a.hold(-1)
	passed := time.After(wait)
	for {
		a.lock.Lock()
		host, changed := a.hosts[name], a.changed
		var desired wire.Desired
		if host != nil {
			desired = host.Desired
		}
		a.lock.Unlock()
		if host == nil {
			refuse(w, http.StatusNotFound, "there is no such host")
			return
		}
		if desired.Revision != r.URL.Query().Get("revision") {
			answer(w, desired)
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-passed:
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
}

func (a *API) hold(by int) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.held += by
}

func (a *API) report(w http.ResponseWriter, r *http.Request, name string) {
	report := wire.Report{}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&report); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	if host := a.hosts[name]; host != nil {
		host.Reports = append(host.Reports, report)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (a *API) bootstrapData(w http.ResponseWriter, _ *http.Request, _ string) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.bootstrap == nil {
		refuse(w, http.StatusNotFound, "there is no bootstrap data yet")
		return
	}
	answer(w, a.bootstrap)
}
