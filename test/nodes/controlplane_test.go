// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"bytes"
	"context"
	"path/filepath"
	"text/template"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

const (
	// aloneNumber is the number of the host that is a cluster of its own.
	aloneNumber = 9
	aloneName   = "alone"
	// apiPort of its API server.
	apiPort = 6443
	// administrator is the user that kubeadm calls so.
	administrator = "kubernetes-admin"
)

// alone is a cluster of one host, whose control plane are static Pods of its kubelet.
type alone struct {
	*scenario.Cluster
	host *nspawn.Host
	// kube is a client to its API server.
	kube client.Client
}

// newAlone creates the cluster, with a KubeadmControlPlane of one replica.
func newAlone(ctx context.Context) *alone {
	GinkgoHelper()
	made := &alone{}
	made.Cluster = suite.NewCluster(ctx, theLab, scenario.Options{
		Name: aloneName, Pools: []scenario.Pool{{Name: scenario.Template}}, Spare: 1, AssessmentTimeout: assessmentTimeout,
		Hosts: func(_ context.Context, c *scenario.Cluster, agentConfig []byte) error {
			made.host = setup.NewHost(c.HostName(1), aloneNumber, c.Image, agentConfig)
			return nil
		},
		Unconnected: true,
		Manifest:    func(_ context.Context, c *scenario.Cluster) (string, error) { return manifest(c), nil },
	})
	Eventually(made.available).WithContext(ctx).Should(BeTrue())
	Expect(made.AwaitRolledOut(ctx, scenario.ControlPlaneTemplate)).To(Succeed())
	made.connect(ctx)
	return made
}

// manifest of the cluster.
func manifest(c *scenario.Cluster) string {
	GinkgoHelper()
	parsed, err := template.ParseFiles("testdata/alone.yaml.tmpl")
	Expect(err).NotTo(HaveOccurred())
	text := &bytes.Buffer{}
	Expect(parsed.Execute(text, map[string]any{
		"Name": aloneName, "ControlPlane": scenario.ControlPlane, "Address": nspawn.Address(aloneNumber), "Port": apiPort, "Image": c.Image.URI(),
		"KubernetesVersion": scenario.KubernetesVersion, "PreflightErrors": preflightErrors,
	})).To(Succeed())
	file := filepath.Join(GinkgoT().TempDir(), "alone.yaml")
	osimage.Write(file, text.String())
	return file
}

// available reports whether KubeadmControlPlane finds the control plane healthy: it asks etcd through the API server and the kubelet.
func (a *alone) available(ctx context.Context) (bool, error) {
	of, err := a.KubeadmControlPlane(ctx)
	if err != nil || of.Status.AvailableReplicas == nil {
		return false, err
	}
	return *of.Status.AvailableReplicas == 1, nil
}

// connect makes the client, by the kubeconfig that KubeadmControlPlane has made.
func (a *alone) connect(ctx context.Context) {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: a.Namespace(), Name: aloneName + "-kubeconfig"}, secret)).To(Succeed())
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	Expect(err).NotTo(HaveOccurred())
	a.kube, err = client.New(config, client.Options{})
	Expect(err).NotTo(HaveOccurred())
}
