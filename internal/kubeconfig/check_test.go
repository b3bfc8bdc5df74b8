// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/kubeconfig"
)

// written is a kubeconfig Secret as control plane providers make it, with changes.
func written(change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) *corev1.Secret {
	GinkgoHelper()
	cluster := &clientcmdapi.Cluster{Server: "https://10.0.0.100:6443", CertificateAuthorityData: []byte("authority")}
	user := &clientcmdapi.AuthInfo{ClientCertificateData: []byte("certificate"), ClientKeyData: []byte("key")}
	change(cluster, user)
	config := clientcmdapi.NewConfig()
	config.Clusters["shop"], config.AuthInfos["admin"] = cluster, user
	config.Contexts["admin@shop"] = &clientcmdapi.Context{Cluster: "shop", AuthInfo: "admin"}
	config.CurrentContext = "admin@shop"
	content, err := clientcmd.Write(*config)
	Expect(err).NotTo(HaveOccurred())
	return secretOf(content)
}

func secretOf(content []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "edge", Name: "shop-kubeconfig"}, Data: map[string][]byte{"value": content},
	}
}

var _ = DescribeTable("A kubeconfig is refused",
	func(change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo), why string) {
		err := kubeconfig.Check(written(change))
		Expect(err).To(BeAssignableToTypeOf(&kubeconfig.Refusal{}))
		Expect(err).To(MatchError("the kubeconfig in Secret edge/shop-kubeconfig is not used: " + why))
	},
	Entry("with a token in a file", func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		user.TokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	}, `tokenFile of user "admin" is a file, put its content into token`),
	Entry("with a token in a file beside one of its own", func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		user.Token, user.TokenFile = "token", "/token"
	}, `tokenFile of user "admin" is a file, put its content into token`),
	Entry("with a client certificate in a file", func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		user.ClientCertificate = "/tls.crt"
	}, `client-certificate of user "admin" is a file, put its content into client-certificate-data`),
	Entry("with a client key in a file", func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		user.ClientKey = "/tls.key"
	}, `client-key of user "admin" is a file, put its content into client-key-data`),
	Entry("with an authority in a file", func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		cluster.CertificateAuthority = "/ca.crt"
	}, `certificate-authority of cluster "shop" is a file, put its content into certificate-authority-data`),
	Entry("with a program", func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		user.Exec = &clientcmdapi.ExecConfig{Command: "sh", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
	}, `exec of user "admin" starts a program, write a token or a client certificate into the kubeconfig`),
	Entry("with a plug-in", func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		user.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"}
	}, `auth-provider of user "admin" is a plug-in, write a token or a client certificate into the kubeconfig`),
	Entry("with several of them, all of which are named", func(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		cluster.CertificateAuthority, user.TokenFile = "/ca.crt", "/token"
	}, `certificate-authority of cluster "shop" is a file, put its content into certificate-authority-data; `+
		`tokenFile of user "admin" is a file, put its content into token`),
)

var _ = DescribeTable("A kubeconfig is used",
	func(change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) {
		Expect(kubeconfig.Check(written(change))).To(Succeed())
	},
	Entry("as control plane providers write it", func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {}),
	Entry("with a token", func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		*user = clientcmdapi.AuthInfo{Token: "token"}
	}),
	Entry("with a proxy, which sees no more than the server would", func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		cluster.ProxyURL = "http://proxy.example.com:3128"
	}),
)

var _ = Describe("A Secret", func() {
	It("without a kubeconfig is not refused: there is none yet", func() {
		Expect(kubeconfig.Check(&corev1.Secret{})).To(Succeed())
	})

	It("with something else than a kubeconfig is refused, and none of it is told", func() {
		Expect(kubeconfig.Check(secretOf([]byte("users: hunter2")))).To(MatchError(
			`the kubeconfig in Secret edge/shop-kubeconfig is not used: key "value" cannot be read as a kubeconfig, correct it`))
	})

	It("is refused for a user that no context uses", func() {
		unused := []byte(`{"kind": "Config", "apiVersion": "v1", "users": [{"name": "spare", "user": {"tokenFile": "/token"}}]}`)
		Expect(kubeconfig.Check(secretOf(unused))).To(MatchError(ContainSubstring(`tokenFile of user "spare"`)))
	})
})

// stored is a reader that has one Secret.
type stored struct {
	client.Reader
	secret *corev1.Secret
}

func (s stored) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if s.secret == nil {
		return errors.New("the API server does not answer")
	}
	s.secret.DeepCopyInto(object.(*corev1.Secret))
	return nil
}

var _ = Describe("The reader", func() {
	key := client.ObjectKey{Namespace: "edge", Name: "shop-kubeconfig"}

	It("hands out what is not refused", func(ctx SpecContext) {
		kept, read := written(func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {}), &corev1.Secret{}
		Expect(kubeconfig.NewReader(stored{secret: kept}).Get(ctx, key, read)).To(Succeed())
		Expect(read).To(Equal(kept))
	})

	It("hands out nothing of what is", func(ctx SpecContext) {
		kept := written(func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) { user.TokenFile = "/token" })
		read := &corev1.Secret{}
		err := kubeconfig.NewReader(stored{secret: kept}).Get(ctx, key, read)
		refusal := &kubeconfig.Refusal{}
		Expect(errors.As(err, &refusal)).To(BeTrue())
		Expect(read).To(Equal(&corev1.Secret{}))
	})

	It("says when it cannot read, which is no refusal", func(ctx SpecContext) {
		err := kubeconfig.NewReader(stored{}).Get(ctx, key, &corev1.Secret{})
		Expect(err).To(MatchError("the API server does not answer"))
	})

	It("serves nothing that it does not look into", func(ctx SpecContext) {
		reader := kubeconfig.NewReader(stored{})
		Expect(reader.Get(ctx, key, &metav1.PartialObjectMetadata{})).To(MatchError(ContainSubstring("it is in a Secret")))
		Expect(reader.List(ctx, &corev1.SecretList{})).To(MatchError(ContainSubstring("one by one")))
	})
})
