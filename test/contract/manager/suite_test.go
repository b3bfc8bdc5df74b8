// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	namespace = "elemental-system"
	patience  = specs.Patience
	// calm is how long something must not happen.
	calm = 2 * time.Second
)

// replica of the manager, and its ports.
type replica struct {
	*process.Process
	webhooks, hooks, api, diagnostics, health int
}

func (r *replica) metricsURL() string {
	return fmt.Sprintf("https://127.0.0.1:%d/metrics", r.diagnostics)
}

var (
	server   *apiserver.Server
	replicas []*replica
	caller   *http.Client
	// startTenant starts an additional replica, with its own flags.
	startTenant func(ctx context.Context, args ...string) *replica
)

func TestManager(t *testing.T) {
	specs.Run(t, "bin/manager")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	server = apiserver.StartForSuite()
	Expect(server.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	root := specs.Root()
	grantRoles(ctx, filepath.Join(root, "config", "rbac"))

	dir := GinkgoT().TempDir()
	authority, err := pki.NewAuthority("test")
	Expect(err).NotTo(HaveOccurred())
	pair, err := authority.Server("manager")
	Expect(err).NotTo(HaveOccurred())
	Expect(authority.WriteServing(dir, pair)).To(Succeed())
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.CertPEM)
	// The diagnostics endpoint has a self-signed certificate, as in Cluster API's managers.
	caller = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	for i := range 2 {
		replicas = append(replicas, startReplica(ctx, i, root, dir))
	}
	startTenant = func(ctx context.Context, args ...string) *replica {
		GinkgoHelper()
		return startReplica(ctx, len(replicas), root, dir, args...)
	}
})

func startReplica(ctx context.Context, index int, root, dir string, args ...string) *replica {
	GinkgoHelper()
	ports, err := process.Ports(5)
	Expect(err).NotTo(HaveOccurred())
	r := &replica{webhooks: ports[0], hooks: ports[1], api: ports[2], diagnostics: ports[3], health: ports[4]}
	r.Process, err = process.Start(process.Spec{
		Name: fmt.Sprintf("manager-%d", index), Path: filepath.Join(root, "bin", "manager"), LogDir: dir,
		Args: append([]string{
			"--kubeconfig=" + writeKubeconfig(ctx, dir), "--leader-elect", "--leader-elect-namespace=" + namespace,
			fmt.Sprintf("--webhook-port=%d", r.webhooks), "--webhook-cert-dir=" + dir,
			fmt.Sprintf("--runtime-extension-port=%d", r.hooks), "--extension-cert-dir=" + dir,
			fmt.Sprintf("--elemental-api-bind-address=127.0.0.1:%d", r.api), "--elemental-api-cert-dir=" + dir,
			"--elemental-api-endpoint=elemental.example.com:9090",
			fmt.Sprintf("--diagnostics-address=127.0.0.1:%d", r.diagnostics),
			fmt.Sprintf("--health-addr=127.0.0.1:%d", r.health), "--tls-min-version=VersionTLS13",
		}, args...),
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(r.Stop)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	Expect(r.AwaitOK(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", r.health), nil)).To(Succeed())
	Expect(r.Await(ctx, "diagnostics to be served", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.metricsURL(), nil)
		if err != nil {
			return err
		}
		response, err := caller.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	})).To(Succeed())
	for what, port := range map[string]int{"webhooks": r.webhooks, "hooks": r.hooks, "hosts": r.api} {
		Expect(r.Await(ctx, what+" to be answered", func(ctx context.Context) error {
			connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return err
			}
			return connection.Close()
		})).To(Succeed())
	}
	return r
}

// grantRoles creates the manager's roles and binds them to its ServiceAccount, as config/rbac does.
func grantRoles(ctx context.Context, folder string) {
	GinkgoHelper()
	newAccount(ctx, "manager")
	for _, file := range []string{"role.yaml", "leader_election_role.yaml", "diagnostics_role.yaml"} {
		manifests, err := capi.Load(filepath.Join(folder, file))
		Expect(err).NotTo(HaveOccurred())
		for _, role := range manifests {
			meta := metav1.ObjectMeta{Name: role.GetName()}
			to := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.GetKind(), Name: role.GetName()}
			if role.GetKind() == "Role" {
				role.SetNamespace(namespace)
				meta.Namespace = namespace
				Expect(server.Client.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: to, Subjects: subjects("manager")})).To(Succeed())
			} else {
				Expect(server.Client.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: to, Subjects: subjects("manager")})).To(Succeed())
			}
			Expect(server.Client.Create(ctx, role)).To(Succeed())
		}
	}
}

func subjects(account string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}}
}

func newAccount(ctx context.Context, name string) *corev1.ServiceAccount {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Expect(server.Client.Create(ctx, account)).To(Succeed())
	return account
}

// tokenOf requests a token of a ServiceAccount.
func tokenOf(ctx context.Context, account *corev1.ServiceAccount) string {
	GinkgoHelper()
	request := &authenticationv1.TokenRequest{}
	Expect(server.Client.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// writeKubeconfig writes a kubeconfig of the manager's ServiceAccount.
func writeKubeconfig(ctx context.Context, dir string) string {
	GinkgoHelper()
	token := tokenOf(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "manager"}})
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: server.Config.Host, CertificateAuthorityData: server.Config.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	file := filepath.Join(dir, "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	return file
}
