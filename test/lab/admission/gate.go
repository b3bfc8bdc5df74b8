// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
)

// Patience is how long a write may wait for its verdict.
const Patience = 30 * time.Second

// Verdict on a write. The zero value lets it pass.
type Verdict struct {
	// Deny rejects the write: the API server returns ServiceUnavailable.
	Deny bool
	// Then is called after the request has completed, with whether the write was stored. The client may have its
	// response by then. It is not called for a denied write.
	Then func(stored bool)
}

// Judge decides on a write, within Patience. It is called concurrently. ctx ends when the verdict is no longer needed,
// for example because the client is gone; the write is then not stored.
type Judge func(ctx context.Context, write *Write) Verdict

// Gate is the admission webhook that API servers call before they store a write.
type Gate struct {
	judge     Judge
	authority *pki.Authority
	server    *http.Server
	address   string
	guarded   map[string]guarded
}

// guarded is an API server that calls the gate.
type guarded struct{ name, auditLog string }

// Open starts a gate on loopback. No API server calls it yet.
func Open(judge Judge) (*Gate, error) {
	authority, err := pki.NewAuthority("gate-ca")
	if err != nil {
		return nil, err
	}
	pair, err := authority.Server("gate")
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of the gate: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for API servers: %w", err)
	}
	g := &Gate{judge: judge, authority: authority, address: listener.Addr().String(), guarded: map[string]guarded{}}
	g.server = &http.Server{
		Handler: http.HandlerFunc(g.serve), ReadHeaderTimeout: Patience,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = g.server.ServeTLS(listener, "", "") }()
	return g, nil
}

// Close stops the gate. An API server that is still configured to call it rejects all guarded writes from then on.
func (g *Gate) Close() error { return g.server.Close() }

func (g *Gate) serve(answer http.ResponseWriter, request *http.Request) {
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(request.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(answer, fmt.Sprintf("no review: %v", err), http.StatusBadRequest)
		return
	}
	write, err := g.read(request.URL.Path, review.Request)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusInternalServerError)
		return
	}
	verdict := g.judge(request.Context(), write)
	response := &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: !verdict.Deny, AuditAnnotations: map[string]string{write.id: ""},
	}
	if verdict.Deny {
		response.Result = &metav1.Status{
			Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: "the test does not let it happen",
		}
	}
	review.Response, review.Request = response, nil
	answer.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(answer).Encode(review)
	if verdict.Then != nil && !verdict.Deny {
		go func() { verdict.Then(write.awaitStored(context.WithoutCancel(request.Context()))) }()
	}
}

func (g *Gate) read(path string, request *admissionv1.AdmissionRequest) (*Write, error) {
	write, err := newWrite(request)
	if err != nil {
		return nil, err
	}
	asking := g.guarded[path]
	write.Cluster, write.log = asking.name, asking.auditLog
	info, err := os.Stat(write.log)
	if err != nil {
		return nil, fmt.Errorf("measuring the audit log: %w", err)
	}
	write.offset = info.Size()
	return write, nil
}
