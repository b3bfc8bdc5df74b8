// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package extensionserver_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimeserver "sigs.k8s.io/cluster-api/exp/runtime/server"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/extensionserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/tlstest"
)

func TestExtensionServer(t *testing.T) {
	specs.Run(t, "Server of the runtime extension")
}

const (
	allowed = "cluster-api"
	path    = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/"
	may     = path + "canupdatemachine/may"
	patches = path + "generatepatches/patches"
)

// extension is a server with two hooks, on loopback.
type extension struct {
	url       string
	dir       string
	authority *pki.Authority
	// answered says for each request that was handled whether its caller was verified.
	answered chan bool
}

// start a server with the certificate of an authority, which verifies callers by the same one if it is to verify them.
func start(verify bool) *extension {
	GinkgoHelper()
	authority, err := pki.NewAuthority("authority")
	Expect(err).NotTo(HaveOccurred())
	e := &extension{dir: GinkgoT().TempDir(), authority: authority, answered: make(chan bool, 100)}
	e.serve("first", time.Unix(1000, 0))
	ports, err := process.Ports(1)
	Expect(err).NotTo(HaveOccurred())
	options := extensionserver.Options{Port: ports[0], CertDir: e.dir}
	if verify {
		e.trust(authority, time.Unix(1000, 0))
		options.ClientCAFile, options.ClientNames = e.bundle(), []string{"other", allowed}
	}
	server, err := extensionserver.New(options)
	Expect(err).NotTo(HaveOccurred())
	note := func(ctx context.Context) { e.answered <- extensionserver.IsCallerVerified(ctx) }
	Expect(server.AddExtensionHandler(runtimeserver.ExtensionHandler{
		Hook: runtimehooksv1.CanUpdateMachine, Name: "may",
		HandlerFunc: func(ctx context.Context, _ *runtimehooksv1.CanUpdateMachineRequest, _ *runtimehooksv1.CanUpdateMachineResponse) {
			note(ctx)
		},
	})).To(Succeed())
	Expect(server.AddExtensionHandler(runtimeserver.ExtensionHandler{
		Hook: runtimehooksv1.GeneratePatches, Name: "patches",
		HandlerFunc: func(ctx context.Context, _ *runtimehooksv1.GeneratePatchesRequest, _ *runtimehooksv1.GeneratePatchesResponse) {
			note(ctx)
		},
	})).To(Succeed())
	Expect(server.Ready(nil)).To(MatchError(ContainSubstring("does not listen yet")))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	DeferCleanup(func() {
		stop()
		Expect(<-ended).To(Succeed())
	})
	Eventually(func() error { return server.Ready(nil) }).Should(Succeed())
	e.url = fmt.Sprintf("https://127.0.0.1:%d", ports[0])
	return e
}

func (e *extension) bundle() string { return filepath.Join(e.dir, "clients.crt") }

// trust an authority for clients, as of a time: the granularity of file systems is coarser than specs are fast.
func (e *extension) trust(authority *pki.Authority, modified time.Time) {
	GinkgoHelper()
	Expect(pki.WriteFiles(e.dir, map[string][]byte{"clients.crt": authority.CertPEM})).To(Succeed())
	Expect(os.Chtimes(e.bundle(), modified, modified)).To(Succeed())
}

// serve with a certificate of that name.
func (e *extension) serve(name string, modified time.Time) {
	GinkgoHelper()
	pair, err := e.authority.Server(name)
	Expect(err).NotTo(HaveOccurred())
	Expect(pki.WriteFiles(e.dir, map[string][]byte{"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM})).To(Succeed())
	Expect(os.Chtimes(filepath.Join(e.dir, "tls.crt"), modified, modified)).To(Succeed())
}

// tlsOf somebody with a certificate, or none.
func (e *extension) tlsOf(pair *pki.Pair) *tls.Config {
	GinkgoHelper()
	return tlstest.Config(e.authority, pair)
}

// refusal is what the server says to whoever it does not let in.
func (e *extension) refusal(pair *pki.Pair) error {
	GinkgoHelper()
	return tlstest.Refusal(context.Background(), strings.TrimPrefix(e.url, "https://"), e.tlsOf(pair))
}

// caller is a client with a certificate, or none.
func (e *extension) caller(pair *pki.Pair) *http.Client {
	GinkgoHelper()
	transport := &http.Transport{TLSClientConfig: e.tlsOf(pair), ForceAttemptHTTP2: true}
	DeferCleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// call a hook, and return the status and what was answered.
func call(caller *http.Client, url string, body io.Reader) (int, string, error) {
	response, err := caller.Post(url, "application/json", body)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(response.Body)
	return response.StatusCode, string(said), err
}

func question() io.Reader { return bytes.NewBufferString("{}") }
