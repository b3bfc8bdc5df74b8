// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

// Secrets with certificates of the infrastructure components.
const (
	webhookService  = "elemental-webhook-service"
	webhookSecret   = webhookService + "-cert"
	apiSecret       = "elemental-api-cert"
	authoritySecret = "elemental-api-ca"
)

// apiName is the host name by which hosts reach the Elemental API.
var apiName, _, _ = net.SplitHostPort(endpoint)

// expectServes expects that a Secret has a certificate with its key that is valid for a server of that name, for a
// client that trusts the CA.
func expectServes(ctx context.Context, p *plane, name, server string, authority []byte) {
	GinkgoHelper()
	secret, err := p.secret(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(authority)).To(BeTrue())
	Expect(pair.Leaf.Verify(x509.VerifyOptions{
		DNSName: server, Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})).Error().NotTo(HaveOccurred())
}

// renew makes cert-manager reissue a certificate, as "cmctl renew" does, and returns its new Secret.
func (p *plane) renew(ctx context.Context, certificate, name string) *corev1.Secret {
	GinkgoHelper()
	former, err := p.secret(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	p.kubectl(ctx, "patch", "certificate", certificate, "--namespace", lab.ManagerNamespace, "--subresource=status", "--type=json", "--patch",
		`[{"op": "add", "path": "/status/conditions/-", "value": {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered",
		   "message": "Certificate re-issuance manually triggered", "lastTransitionTime": "`+time.Now().UTC().Format(time.RFC3339)+`"}}]`)
	renewed := &corev1.Secret{}
	Eventually(func(g Gomega) {
		renewed, err = p.secret(ctx, name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(renewed.Data[corev1.TLSCertKey]).NotTo(Equal(former.Data[corev1.TLSCertKey]))
	}).WithContext(ctx).Should(Succeed())
	return renewed
}

// bringAuthority copies the CA of the Elemental API to a management cluster by the first commands of docs/move.md.
func bringAuthority(ctx context.Context, to *plane) {
	GinkgoHelper()
	_, rest, found := strings.Cut(page("move.md"), "```bash\n")
	Expect(found).To(BeTrue())
	commands, _, found := strings.Cut(rest, "```")
	Expect(found).To(BeTrue())
	GinkgoWriter.Print(commands)
	folder := GinkgoT().TempDir()
	Expect(os.Symlink(lab.AdminKubeconfig(to.Management), filepath.Join(folder, "target"))).To(Succeed())
	shell := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", commands)
	shell.Dir = folder
	shell.Env = append(os.Environ(), "KUBECONFIG="+lab.AdminKubeconfig(source.Management), "PATH="+filepath.Dir(tool("kubectl"))+":"+os.Getenv("PATH"))
	said, err := shell.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(said))
}

var _ = Describe("cert-manager", func() {
	DescribeTable("issues a certificate that is valid for a Service: that of",
		func(ctx SpecContext, service, secret string) {
			Expect(source.Kube.Get(ctx, client.ObjectKey{Namespace: lab.ManagerNamespace, Name: service}, &corev1.Service{})).To(Succeed())
			issued, err := source.secret(ctx, secret)
			Expect(err).NotTo(HaveOccurred())
			expectServes(ctx, source, secret, service+"."+lab.ManagerNamespace+".svc", issued.Data["ca.crt"])
		},
		Entry("webhooks", webhookService, webhookSecret),
		Entry("hooks", hooksService, hooksSecret),
	)

	It("has injected the CA of the webhooks", func(ctx SpecContext) {
		secret, err := source.secret(ctx, webhookSecret)
		Expect(err).NotTo(HaveOccurred())
		Expect(source.trusting).NotTo(BeEmpty())
		for configuration, authorities := range source.trusting {
			Expect(authorities).To(ConsistOf(base64.StdEncoding.EncodeToString(secret.Data["ca.crt"])), configuration)
		}
		Expect(source.trusting).To(HaveKey(ContainSubstring("validating")))
	})

	It("issues the CA by which Cluster API trusts the hooks", func(ctx SpecContext) {
		secret, err := source.secret(ctx, hooksSecret)
		Expect(err).NotTo(HaveOccurred())
		config := &runtimev1.ExtensionConfig{}
		Expect(source.Kube.Get(ctx, client.ObjectKey{Name: capi.ExtensionName}, config)).To(Succeed())
		Expect(bytes.TrimSpace(config.Spec.ClientConfig.CABundle)).To(Equal(bytes.TrimSpace(secret.Data["ca.crt"])))
	})

	It("keeps the key of the CA that hosts pin, so that they trust certificates signed after its renewal", func(ctx SpecContext) {
		pinned, err := source.secret(ctx, authoritySecret)
		Expect(err).NotTo(HaveOccurred())
		expectServes(ctx, source, apiSecret, apiName, pinned.Data[corev1.TLSCertKey])

		renewed := source.renew(ctx, "elemental-api-ca", authoritySecret)
		Expect(renewed.Data[corev1.TLSPrivateKeyKey]).To(Equal(pinned.Data[corev1.TLSPrivateKeyKey]))
		expectServes(ctx, source, apiSecret, apiName, renewed.Data[corev1.TLSCertKey])
		signed := source.renew(ctx, "elemental-api-cert", apiSecret)
		Expect(signed.Data["ca.crt"]).To(Equal(renewed.Data[corev1.TLSCertKey]))
		expectServes(ctx, source, apiSecret, apiName, pinned.Data[corev1.TLSCertKey])
	})
})
