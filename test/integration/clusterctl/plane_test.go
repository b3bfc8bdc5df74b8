// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// plane is a management cluster that clusterctl has installed.
type plane struct {
	*lab.Lab
	// image of the OS that clusters are generated with. Default: one that does not exist.
	image string
	// told is what clusterctl told last beside its output.
	told string
}

// startPlane starts a lab, in which clusterctl installs all providers, as docs/install.md says.
func startPlane(ctx context.Context, options lab.Options) *plane {
	GinkgoHelper()
	options.WithoutExtension = true
	options.Install = func(ctx context.Context, l *lab.Lab) error {
		return (&plane{Lab: l}).install(ctx)
	}
	p := &plane{Lab: suite.StartLab(ctx, options)}
	p.accepts(ctx, p.ctl(ctx, "generate", "provider", "--runtime-extension", "elemental"))
	p.ctl(ctx, "init", "--runtime-extension", "elemental")
	p.connectExtension(ctx)
	return p
}

// install installs all but the runtime extension, whose ExtensionConfig Cluster API wants to look at first.
func (p *plane) install(ctx context.Context) error {
	if _, err := p.Kubectl(ctx, "apply", "--filename", filepath.Join("testdata", "cert-manager-crds.yaml")); err != nil {
		return err
	}
	if _, err := p.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all"); err != nil {
		return err
	}
	if _, err := p.run(ctx, "init", "--infrastructure", "elemental"); err != nil {
		return err
	}
	// They name Services, which lead nowhere here. The lab makes others once their servers run.
	for _, kind := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		if _, err := p.Kubectl(ctx, "delete", kind, "--all"); err != nil {
			return err
		}
	}
	return nil
}

// connectExtension does for the ExtensionConfig what Service, DNS and cert-manager do in a real cluster, and waits until
// Cluster API has asked what hooks there are.
func (p *plane) connectExtension(ctx context.Context) {
	GinkgoHelper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.ManagerNamespace, Name: "elemental-runtime-extension-cert"},
		Data:       map[string][]byte{"ca.crt": p.Management.Authority().CertPEM},
	}
	Expect(p.Kube.Create(ctx, secret)).To(Succeed())
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"clientConfig": map[string]any{
		"service": nil, "url": fmt.Sprintf("https://127.0.0.1:%d", p.Provider.ServicePort),
	}}})
	Expect(err).NotTo(HaveOccurred())
	_, err = p.Kubectl(ctx, "patch", "extensionconfig", capi.ExtensionName, "--type", "merge", "--patch", string(patch))
	Expect(err).NotTo(HaveOccurred())
	config := &runtimev1.ExtensionConfig{}
	Eventually(func(g Gomega) {
		g.Expect(p.Kube.Get(ctx, client.ObjectKey{Name: capi.ExtensionName}, config)).To(Succeed())
		g.Expect(conditions.IsTrue(config, runtimev1.ExtensionConfigDiscoveredCondition)).To(BeTrue(), "%v", config.Status.Conditions)
	}, patience, look).WithContext(ctx).Should(Succeed())
}

// kubectl runs kubectl as a person would, and tells it.
func (p *plane) kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	tell("kubectl", args)
	said, err := p.Kubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	GinkgoWriter.Print(said)
	return said
}
