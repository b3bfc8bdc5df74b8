// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/tlstest"
)

const (
	hooksPath = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/"
	discovery = hooksPath + "discovery"
	update    = hooksPath + "updatemachine/elemental-update-machine"
)

// certificateOf is a client certificate with a name, signed by a CA.
func certificateOf(authority *pki.Authority, name string) *pki.Pair {
	GinkgoHelper()
	pair, err := authority.Client(name)
	Expect(err).NotTo(HaveOccurred())
	return &pair
}

// tlsOf is the TLS configuration of a client with the certificate, or without one.
func tlsOf(certificate *pki.Pair) *tls.Config {
	GinkgoHelper()
	return tlstest.Config(theLab.Management.Authority(), certificate)
}

// call posts a body with the client certificate, and returns the status and the response.
func call(ctx context.Context, address, path string, certificate *pki.Pair, body []byte) (int, string, error) {
	GinkgoHelper()
	caller := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: tlsOf(certificate), DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+path, bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	response, err := caller.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(response.Body)
	return response.StatusCode, string(said), err
}

// announce sends a request with that content length but without a body, and returns the first line
// of the response.
func announce(ctx context.Context, address, path string, certificate *pki.Pair, bytesLong int) string {
	GinkgoHelper()
	connection, err := (&tls.Dialer{Config: tlsOf(certificate)}).DialContext(ctx, "tcp", address)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = connection.Close() }()
	Expect(connection.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
	_, err = fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: extension\r\nContent-Length: %d\r\n\r\n", path, bytesLong)
	Expect(err).NotTo(HaveOccurred())
	answer, err := io.ReadAll(connection)
	Expect(err).NotTo(HaveOccurred())
	line, _, _ := strings.Cut(string(answer), "\r\n")
	return line
}

// madeUp is a call of UpdateMachine with objects that do not exist, for a host that exists.
func madeUp(namespace, host string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"UpdateMachineRequest","desired":{
		"machine":{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"namespace":"default","name":"none"},"spec":{"clusterName":"none"}},
		"infrastructureMachine":{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"ElementalMachine",
			"metadata":{"namespace":"default","name":"none"},
			"spec":{"hostRef":{"namespace":%q,"name":%q},"osVersionManagement":{"osVersion":{"imageURI":"oci://stranger.example.com/os:v1"}}}},
		"bootstrapConfig":{"apiVersion":"bootstrap.cluster.x-k8s.io/v1beta2","kind":"KubeadmConfig","metadata":{"namespace":"default","name":"none"}}}}`,
		namespace, host)
}

var _ = Describe("The port of the hooks", Ordered, func() {
	const namespace = "tenant"

	var stranger *pki.Authority

	BeforeAll(func(ctx SpecContext) {
		var err error
		stranger, err = pki.NewAuthority("management")
		Expect(err).NotTo(HaveOccurred())
		Expect(theLab.Kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		Expect(theLab.Kube.Create(ctx, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "host"}})).To(Succeed())
	})

	DescribeTable("rejects a client",
		func(ctx SpecContext, alert, because string, certificate func() *pki.Pair) {
			Expect(tlstest.Refusal(ctx, theLab.Hooks(), tlsOf(certificate()))).To(MatchError("remote error: tls: " + alert))
			for _, path := range []string{discovery, update} {
				_, _, err := call(ctx, theLab.Hooks(), path, certificate(), madeUp(namespace, "host"))
				Expect(err).To(HaveOccurred())
			}
			attempts := &infrav1.ElementalHostUpgradeList{}
			Expect(theLab.Kube.List(ctx, attempts)).To(Succeed())
			Expect(attempts.Items).To(BeEmpty())
			Eventually(func() (string, error) {
				log, err := os.ReadFile(theLab.Provider.Process.LogFile())
				return string(log), err
			}).Should(ContainSubstring(because), "an operator can read why")
		},
		Entry("without a certificate", "certificate required", "client didn't provide a certificate", func() *pki.Pair { return nil }),
		Entry("with one of another CA", "bad certificate", "certificate signed by unknown authority", func() *pki.Pair {
			return certificateOf(stranger, lab.ExtensionClient)
		}),
		Entry("with another name", "bad certificate", "none of the names in --runtime-extension-client-names", func() *pki.Pair {
			return certificateOf(theLab.Management.Authority(), "somebody")
		}),
	)

	It("accepts Cluster API, which has discovered the hooks, but rejects a body that is too long", func(ctx SpecContext) {
		config := &runtimev1.ExtensionConfig{}
		Expect(theLab.Kube.Get(ctx, client.ObjectKey{Name: capi.ExtensionName}, config)).To(Succeed())
		Expect(conditions.IsTrue(config, runtimev1.ExtensionConfigDiscoveredCondition)).To(BeTrue())
		own := certificateOf(theLab.Management.Authority(), lab.ExtensionClient)
		code, said, err := call(ctx, theLab.Hooks(), discovery, own, []byte("{}"))
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusOK), said)
		Expect(said).To(ContainSubstring("elemental-update-machine"))
		Expect(announce(ctx, theLab.Hooks(), update, own, 4<<20+1)).To(Equal("HTTP/1.1 413 Request Entity Too Large"))
	})

	It("is reported by a metric to require client certificates", func(ctx SpecContext) {
		Expect(theLab.Metrics(ctx)).To(HaveKeyWithValue("elemental_runtime_extension_verifies_callers", 1.0))
	})

	It("is the only one that has hooks", func(ctx SpecContext) {
		code, _, err := call(ctx, fmt.Sprintf("127.0.0.1:%d", theLab.Provider.WebhookPort), update, nil, madeUp(namespace, "host"))
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusNotFound))
	})
})
