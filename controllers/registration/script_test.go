// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("hack/print-agent-config.sh", func() {
	var print func(ctx SpecContext, object *infrav1.ElementalRegistration) ([]byte, error)

	BeforeEach(func() {
		root := specs.Root()
		kubeconfig := clientcmdapi.NewConfig()
		kubeconfig.Clusters["test"] = &clientcmdapi.Cluster{Server: server.Config.Host, CertificateAuthorityData: server.Config.CAData}
		kubeconfig.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: server.Config.CertData, ClientKeyData: server.Config.KeyData}
		kubeconfig.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
		kubeconfig.CurrentContext = "test"
		file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(clientcmd.WriteToFile(*kubeconfig, file)).To(Succeed())
		print = func(ctx SpecContext, object *infrav1.ElementalRegistration) ([]byte, error) {
			script := exec.CommandContext(ctx, filepath.Join(root, "hack", "print-agent-config.sh"), "-n", object.Namespace, "-r", object.Name)
			script.Env = append(os.Environ(), "KUBECTL="+filepath.Join(root, "bin", "tools", "kubectl"), "KUBECONFIG="+file)
			return script.Output()
		}
	})

	It("prints what the agents of a registration need, and nothing while that is not there", func(ctx SpecContext) {
		object, own := byHand(ctx, func(r *infrav1.ElementalRegistration) {
			r.Spec.Config.Elemental.Agent.Hostname.Prefix = "edge-"
			r.Spec.Config.Elemental.Agent.InsecureRegistries = []string{"192.168.122.10:30000"}
		})
		own.CACert = func() (string, error) {
			return "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n", nil
		}
		content, err := print(ctx, object)
		Expect(content).To(BeEmpty())
		var failed *exec.ExitError
		Expect(errors.As(err, &failed)).To(BeTrue())
		Expect(string(failed.Stderr)).To(ContainSubstring("/r1 has no status.uri yet; its condition TokenReady says why"))

		settle(ctx, own, object)
		content, err = print(ctx, object)
		Expect(err).NotTo(HaveOccurred())
		file := filepath.Join(GinkgoT().TempDir(), "config.yaml")
		Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
		read, err := config.Load(file)
		Expect(err).NotTo(HaveOccurred())
		Expect(read.Registration).To(Equal(config.Registration{URI: ownURI(object), CACert: object.Status.CACert, Token: tokenOf(ctx, object)}))
		Expect(read.Agent).To(And(HaveField("Hostname.Prefix", "edge-"), HaveField("InsecureRegistries", []string{"192.168.122.10:30000"})))
	})
})
