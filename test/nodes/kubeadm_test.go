// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"fmt"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// preflightErrors of kubeadm on a host in a container with cgroup v1.
var preflightErrors = []string{"SystemVerification"}

// completeInit runs those phases of "kubeadm init" that let nodes join by kubeadm: the lab has started the control plane itself.
func completeInit(of *kube.Cluster) {
	GinkgoHelper()
	kubeconfig, err := of.WriteKubeconfig(administrator)
	Expect(err).NotTo(HaveOccurred())
	config := filepath.Join(GinkgoT().TempDir(), "kubeadm.yaml")
	osimage.Write(config, fmt.Sprintf(`apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint:
  advertiseAddress: %[4]s # kubeadm refuses one of the loopback interface
nodeRegistration:
  criSocket: unix:///run/containerd/containerd.sock
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
controlPlaneEndpoint: %[1]s:%[2]d
kubernetesVersion: %[3]s
`, of.Host(), of.Port(), scenario.KubernetesVersion, nspawn.Gateway))
	for _, phase := range [][]string{{"upload-config", "all"}, {"bootstrap-token"}} {
		command := append([]string{"init", "phase"}, phase...)
		GinkgoWriter.Println(osimage.Run(setup.Built("tools/kubeadm"), append(command, "--config="+config, "--kubeconfig="+kubeconfig)...))
	}
}
