// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// sendNothing makes the replicas connect to an untrusted server: by a kubeconfig that refers to one of their files, and
// by one that contains a token.
func sendNothing(ctx SpecContext) {
	authorizations := make(chan string, 1000)
	stranger := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		authorizations <- r.Header.Get("Authorization")
	}))
	DeferCleanup(stranger.Close)
	own := filepath.Join(GinkgoT().TempDir(), "token")
	Expect(os.WriteFile(own, []byte("token-of-the-manager"), 0o600)).To(Succeed())
	kubeconfig := func(user *clientcmdapi.AuthInfo) []byte {
		GinkgoHelper()
		config := clientcmdapi.NewConfig()
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: stranger.Certificate().Raw})
		config.Clusters["c"] = &clientcmdapi.Cluster{Server: stranger.URL, CertificateAuthorityData: ca}
		config.AuthInfos["u"], config.Contexts["x"] = user, &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
		config.CurrentContext = "x"
		content, err := clientcmd.Write(*config)
		Expect(err).NotTo(HaveOccurred())
		return content
	}
	makeCluster := func(name string, user *clientcmdapi.AuthInfo) {
		GinkgoHelper()
		meta := metav1.ObjectMeta{Namespace: "default", Name: name}
		cluster := &clusterv1.Cluster{ObjectMeta: meta}
		cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: name,
		}
		Expect(server.Client.Create(ctx, cluster)).To(Succeed())
		cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
		Expect(server.Client.Status().Update(ctx, cluster)).To(Succeed())
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name + "-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: name},
		}}
		secret.Data = map[string][]byte{"value": kubeconfig(user)}
		Expect(server.Client.Create(ctx, secret)).To(Succeed())
	}
	logs := func() string {
		all := ""
		for _, r := range replicas {
			content, err := os.ReadFile(r.LogFile())
			Expect(err).NotTo(HaveOccurred())
			all += string(content)
		}
		return all
	}

	makeCluster("stolen", &clientcmdapi.AuthInfo{TokenFile: own})
	Eventually(logs, patience).Should(ContainSubstring(
		`the kubeconfig in Secret default/stolen-kubeconfig is not used: tokenFile of user \"u\" is a file, put its content into token`),
		"every connection begins with that")
	Expect(authorizations).To(BeEmpty())

	makeCluster("given", &clientcmdapi.AuthInfo{Token: "token-of-the-cluster"})
	Eventually(authorizations, patience).Should(Receive(Equal("Bearer token-of-the-cluster")), "the server would have noticed")
	for len(authorizations) > 0 {
		Expect(<-authorizations).To(Equal("Bearer token-of-the-cluster"))
	}
}
