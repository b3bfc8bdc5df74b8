// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"path/filepath"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/test/framework"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// root of the repository, relative to this folder.
var root = filepath.Join("..", "..")

// labs is the lab, where the managers of all providers are processes, which clusterctl init could not start.
type labs struct {
	lab       *lab.Lab
	workloads map[string]*lab.Workload
	images    map[string]image.Image
}

func (l *labs) resets() bool { return true }

func (l *labs) immovable() string { return "the lab's clusters run no Pods, and so no manager" }

func (l *labs) install(context.Context, framework.ClusterProxy) { Fail(l.immovable()) }

func (l *labs) routeAPITo(context.Context, framework.ClusterProxy) { Fail(l.immovable()) }

func (l *labs) start(ctx context.Context) framework.ClusterProxy {
	GinkgoHelper()
	absolute, err := filepath.Abs(root)
	Expect(err).NotTo(HaveOccurred())
	l.lab = suite.StartLab(ctx, lab.Options{Root: absolute, WithoutWorkload: true})
	l.workloads = map[string]*lab.Workload{}
	l.pushImages(ctx)
	for i := range config.Providers {
		if config.Providers[i].Name != "elemental" {
			config.Providers[i].Versions = nil // they already run, so nothing is downloaded
		}
	}
	writeRepository(ctx)
	return framework.NewClusterProxy("lab", lab.AdminKubeconfig(l.lab.Management), newScheme())
}

// pushImages sets the variables for the images.
func (l *labs) pushImages(ctx context.Context) {
	GinkgoHelper()
	l.images = map[string]image.Image{}
	for variable, boot := range map[string]string{
		imageInstalled: source.BootOK, imageUpgrade: source.BootOK, imageBad: source.BootUnhealthy,
	} {
		pushed, err := l.lab.Registry.Push(ctx, "elemental-os", variable, image.OS{
			Version: "Elemental OS " + variable, KubeletVersion: config.MustGetVariable(kubernetesVersion), Boot: boot,
		})
		Expect(err).NotTo(HaveOccurred())
		l.images[pushed.URI()] = pushed
		config.Variables[variable] = pushed.URI()
	}
}

// prepare starts the API server that represents the Cluster's control plane hosts.
func (l *labs) prepare(ctx context.Context, namespace, cluster string) map[string]string {
	GinkgoHelper()
	workload, err := l.lab.StartWorkload(ctx, cluster)
	Expect(err).NotTo(HaveOccurred())
	Expect(l.lab.ConnectTo(ctx, workload.Cluster, namespace, cluster)).To(Succeed())
	l.workloads[cluster] = workload
	return map[string]string{endpointHost: workload.Cluster.Host(), endpointPort: strconv.Itoa(workload.Cluster.Port())}
}

func (l *labs) switchOn(ctx context.Context, cluster, name, os string, agentConfig []byte) {
	GinkgoHelper()
	_, err := l.lab.AddHostOf(ctx, l.workloads[cluster].Cluster, name, l.images[os], agentConfig)
	Expect(err).NotTo(HaveOccurred())
}
