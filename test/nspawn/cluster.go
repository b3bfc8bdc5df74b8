// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nspawn

import (
	"context"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

const (
	// patience is how long kubectl waits for what Pods do; they start slowly while others compile.
	patience = "--timeout=5m"
	dnsImage = "coredns"
)

// ManagerImages are those of cert-manager, of Cluster API's release, and of ours with this tag.
func ManagerImages(tag string) map[string]Program {
	const clusterAPI = "registry.k8s.io/cluster-api/"
	return map[string]Program{
		"localhost/cert-manager:1":                                                 {From: "tools/cert-manager", As: "/cert-manager"},
		clusterAPI + "cluster-api-controller:" + capiworkaround.Verified:           {From: "tools/capi-core", As: "/manager"},
		clusterAPI + "kubeadm-bootstrap-controller:" + capiworkaround.Verified:     {From: "tools/capi-cabpk", As: "/manager"},
		clusterAPI + "kubeadm-control-plane-controller:" + capiworkaround.Verified: {From: "tools/capi-kcp", As: "/manager"},
		"ghcr.io/rancher-sandbox/cluster-api-provider-elemental:" + tag:            {From: "manager", As: "/manager"},
	}
}

// ControlPlaneImages are those of kubeadm's static Pods. kubeadm is the path of the program.
func ControlPlaneImages(kubeadm string) map[string]Program {
	GinkgoHelper()
	images := kubeadmImages(kubeadm)
	maps.DeleteFunc(images, func(_ string, of Program) bool { return !isComponent(of) })
	return images
}

// AddonImages are those of kubeadm's addons and of its sandboxes. kubeadm is the path of the program.
func AddonImages(kubeadm string) map[string]Program {
	GinkgoHelper()
	images := kubeadmImages(kubeadm)
	maps.DeleteFunc(images, func(_ string, of Program) bool { return isComponent(of) })
	return images
}

// components is where the programs of a control plane are in their images.
const components = "/usr/local/bin/"

// isComponent reports whether a program is part of a control plane.
func isComponent(p Program) bool { return strings.HasPrefix(p.As, components) }

func kubeadmImages(kubeadm string) map[string]Program {
	GinkgoHelper()
	images := map[string]Program{}
	for image := range strings.FieldsSeq(osimage.Run(kubeadm, "config", "images", "list", "--kubernetes-version="+scenario.KubernetesVersion)) {
		program := path.Base(tagOf(image).RepositoryStr())
		switch program {
		case "pause":
			images[image] = Program{From: "lab/pod", As: "/pod"}
		case dnsImage, "kube-proxy":
			images[image] = Program{From: "tools/" + program, As: "/" + program}
		default:
			images[image] = Program{From: "tools/" + program, As: components + program, Command: []string{program}} // kubeadm's commands are names
		}
	}
	return images
}

// ProxyRights is a file to apply to a cluster of hosts with Services, for their kube-proxy.
func (s *Setup) ProxyRights() string { return s.testdata("kube-proxy-rights.yaml") }

// InstallDNS makes kubeadm install CoreDNS in the cluster of a Node.
func (s *Setup) InstallDNS(ctx context.Context, n *Node) {
	GinkgoHelper()
	kubeconfig, err := n.Cluster.WriteKubeconfig("kubernetes-admin")
	Expect(err).NotTo(HaveOccurred())
	GinkgoWriter.Println(osimage.Run(s.Built("tools/kubeadm"), "init", "phase", "addon", "coredns", "--kubeconfig="+kubeconfig, "--service-cidr="+n.Services,
		"--kubernetes-version="+scenario.KubernetesVersion))
	s.Kubectl(ctx, kubeconfig, "rollout", "status", "deployment/coredns", "--namespace=kube-system", patience)
}

// InstallCertManager installs cert-manager's controllers in a cluster.
func (s *Setup) InstallCertManager(ctx context.Context, kubeconfig string) {
	GinkgoHelper()
	s.Kubectl(ctx, kubeconfig, "apply", "--server-side", "--filename="+filepath.Join(s.root, "bin/manifests/cert-manager-crds.yaml"))
	s.Kubectl(ctx, kubeconfig, "wait", "--for=condition=Established", "crd", "--all")
	s.Kubectl(ctx, kubeconfig, "apply", "--filename="+s.testdata("cert-manager.yaml"))
	s.Kubectl(ctx, kubeconfig, "rollout", "status", "deployment/cert-manager", "--namespace=cert-manager", patience)
}

// Kubectl runs kubectl on a cluster, prints the command and returns its output.
func (s *Setup) Kubectl(ctx context.Context, kubeconfig string, args ...string) string {
	GinkgoHelper()
	GinkgoWriter.Println("$ kubectl", strings.Join(args, " "))
	said, err := exec.CommandContext(ctx, s.Built("tools/kubectl"), append([]string{"--kubeconfig=" + kubeconfig}, args...)...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(said))
	return string(said)
}
