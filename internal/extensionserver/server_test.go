// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package extensionserver_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
)

func signed(pair pki.Pair, err error) *pki.Pair {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return &pair
}

func verifies() string {
	return "# HELP elemental_runtime_extension_verifies_callers 1 if callers of hooks have to show a client certificate, " +
		"0 if anybody who reaches the port may call them.\n# TYPE elemental_runtime_extension_verifies_callers gauge\n" +
		"elemental_runtime_extension_verifies_callers "
}

var _ = Describe("A server that verifies callers", func() {
	var (
		e     *extension
		other *pki.Authority
	)

	BeforeEach(func() {
		e = start(true)
		var err error
		other, err = pki.NewAuthority("authority") // the same name, another key
		Expect(err).NotTo(HaveOccurred())
	})

	DescribeTable("answers", func(pair func() *pki.Pair) {
		code, said, err := call(e.caller(pair()), e.url+may, question())
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusOK), said)
		Expect(e.answered).To(Receive(BeTrue()))
	},
		Entry("who has an allowed common name", func() *pki.Pair { return signed(e.authority.Client(allowed)) }),
		Entry("who has another allowed one", func() *pki.Pair { return signed(e.authority.Client("other")) }),
		Entry("who has an allowed DNS name", func() *pki.Pair { return signed(e.authority.Server("somebody", allowed)) }),
	)

	DescribeTable("refuses", func(message string, pair func() *pki.Pair) {
		Expect(e.refusal(pair())).To(MatchError("remote error: tls: " + message))
		_, _, err := call(e.caller(pair()), e.url+may, question())
		Expect(err).To(HaveOccurred())
		Expect(e.answered).NotTo(Receive())
	},
		Entry("who has no certificate", "certificate required", func() *pki.Pair { return nil }),
		Entry("who has one of another authority", "bad certificate", func() *pki.Pair { return signed(other.Client(allowed)) }),
		Entry("who has one with another name", "bad certificate", func() *pki.Pair { return signed(e.authority.Client("somebody")) }),
		Entry("who has a name that begins as an allowed one", "bad certificate", func() *pki.Pair { return signed(e.authority.Client(allowed + "-2")) }),
		Entry("who has a wildcard", "bad certificate", func() *pki.Pair { return signed(e.authority.Server("somebody", "*")) }),
		Entry("who has an allowed group, and another name", "bad certificate", func() *pki.Pair { return signed(e.authority.Client("somebody", allowed)) }),
	)

	It("follows a change of the authorities, on connections that are open, too", func() {
		before, after := e.caller(signed(e.authority.Client(allowed))), e.caller(signed(other.Client(allowed)))
		expectAnswer := func(caller *http.Client) {
			GinkgoHelper()
			code, said, err := call(caller, e.url+may, question())
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusOK), said)
		}
		expectAnswer(before)
		e.trust(other, time.Unix(2000, 0))
		expectAnswer(after)
		code, said, err := call(before, e.url+may, question())
		Expect(err).NotTo(HaveOccurred(), "its connection was open")
		Expect(code).To(Equal(http.StatusForbidden))
		Expect(said).To(ContainSubstring("unknown authority"))
		_, _, err = call(before, e.url+may, question())
		Expect(err).To(HaveOccurred(), "and is closed with the answer")

		Expect(os.WriteFile(e.bundle(), []byte("half"), 0o600)).To(Succeed())
		expectAnswer(after)
		Expect(os.Remove(e.bundle())).To(Succeed())
		Expect(e.refusal(signed(other.Client(allowed)))).To(MatchError("remote error: tls: bad certificate"), "nobody is known")
	})

	It("says so in a metric", func() {
		Expect(testutil.GatherAndCompare(metrics.Registry, strings.NewReader(verifies()+"1\n"), "elemental_runtime_extension_verifies_callers")).To(Succeed())
	})
})

// body is a question of that length.
func body(bytesLong int) io.Reader {
	return strings.NewReader("{" + strings.Repeat(" ", bytesLong-2) + "}")
}

var _ = Describe("A server that does not verify callers", func() {
	var e *extension

	BeforeEach(func() { e = start(false) })

	It("answers, takes none of them for verified, whatever they show, and says so in a metric", func() {
		for _, pair := range []*pki.Pair{nil, signed(e.authority.Client(allowed))} {
			code, _, err := call(e.caller(pair), e.url+may, question())
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusOK))
			Expect(e.answered).To(Receive(BeFalse()))
		}
		Expect(testutil.GatherAndCompare(metrics.Registry, strings.NewReader(verifies()+"0\n"), "elemental_runtime_extension_verifies_callers")).To(Succeed())
	})

	It("shows the certificate that is there, while there is one", func() {
		shown := func() (string, error) {
			connection, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}).Dial("tcp", strings.TrimPrefix(e.url, "https://"))
			if err != nil {
				return "", err
			}
			defer func() { _ = connection.Close() }()
			return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName, nil
		}
		Expect(shown()).To(Equal("first"))
		e.serve("renewed", time.Unix(2000, 0))
		Expect(shown()).To(Equal("renewed"))
		Expect(os.WriteFile(filepath.Join(e.dir, "tls.crt"), []byte("half"), 0o600)).To(Succeed())
		Expect(shown()).To(Equal("renewed"), "a file in the middle of a change is no reason to show nothing")
		Expect(os.Remove(filepath.Join(e.dir, "tls.crt"))).To(Succeed())
		_, err := shown()
		Expect(err).To(HaveOccurred(), "the components of the runtime extension are gone")
	})

	DescribeTable("takes bodies", func(hook string, bytesLong int) {
		code, said, err := call(e.caller(nil), e.url+hook, body(bytesLong))
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusOK), said)
		Expect(e.answered).To(Receive())
	},
		Entry("of a hook up to 4 MiB", may, 4<<20),
		Entry("that are longer where templates are patched", patches, 4<<20+1),
	)

	// begin a request by hand, which announces its body and does not send it, and return the first line of the answer.
	begin := func(hook, header string) (net.Conn, func() string) {
		GinkgoHelper()
		connection, err := tls.Dial("tcp", strings.TrimPrefix(e.url, "https://"), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { _ = connection.Close() })
		_, err = io.WriteString(connection, "POST "+hook+" HTTP/1.1\r\nHost: extension\r\n"+header+"\r\n\r\n")
		Expect(err).NotTo(HaveOccurred())
		return connection, func() string {
			GinkgoHelper()
			Expect(connection.SetReadDeadline(time.Now().Add(time.Minute))).To(Succeed())
			answer, err := io.ReadAll(connection)
			Expect(err).NotTo(HaveOccurred())
			line, _, _ := strings.Cut(string(answer), "\r\n")
			return line
		}
	}

	DescribeTable("refuses a body that is announced as too long before a byte of it is there", func(hook string, bytesLong int) {
		_, answer := begin(hook, fmt.Sprintf("Content-Length: %d", bytesLong))
		Expect(answer()).To(Equal("HTTP/1.1 413 Request Entity Too Large"))
		Expect(e.answered).NotTo(Receive())
	},
		Entry("of a hook beyond 4 MiB", may, 4<<20+1),
		Entry("of GeneratePatches beyond 20 MiB", patches, 20<<20+1),
	)

	It("keeps no room for bodies that are announced and do not come", func() {
		for range 10 {
			begin(patches, "Content-Length: 20971520")
		}
		code, said, err := call(e.caller(nil), e.url+may, body(4<<20))
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusOK), said)
		Expect(e.answered).To(Receive())
	})

	It("takes 64 MiB of all bodies together, and small ones beside large ones", func() {
		for range 3 {
			connection, _ := begin(patches, "Content-Length: 20971520")
			_, err := io.Copy(connection, io.LimitReader(body(20<<20), 20<<20-1))
			Expect(err).NotTo(HaveOccurred())
		}
		Eventually(func() (string, error) {
			_, said, err := call(e.caller(nil), e.url+patches, body(5<<20))
			return said, err
		}).Should(ContainSubstring("too many hooks are being called at the moment"))
		code, _, err := call(e.caller(nil), e.url+may, question())
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusOK))
		Eventually(e.answered).Should(Receive())
	})

	It("refuses a body without a length, which has no end", func() {
		_, answer := begin(may, "Transfer-Encoding: chunked")
		Expect(answer()).To(Equal("HTTP/1.1 411 Length Required"))
	})

	It("waits ten seconds for a body that does not come, and answers others meanwhile", func() {
		began := time.Now()
		_, answer := begin(may, "Content-Length: 1000\r\nConnection: close")
		code, _, err := call(e.caller(nil), e.url+may, question())
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusOK))
		Expect(e.answered).To(Receive())
		answer()
		Expect(time.Since(began)).To(BeNumerically(">=", 10*time.Second))
		Expect(e.answered).NotTo(Receive(), "it was never handed on")
	})
})
