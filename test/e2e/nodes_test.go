// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// nodesPort is the port of a Node at which hosts reach the Elemental API.
const nodesPort = 30090

// kubeadmTemplate is the release's template that is adapted to containers.
const kubeadmTemplate = "cluster-template-kubeadm.yaml"

// nodes has hosts in systemd-nspawn, and a management cluster whose managers are Pods on a Node there.
type nodes struct {
	lab   *lab.Lab
	setup *nspawn.Setup
	// node of the management cluster.
	node *nspawn.Node
	// images of the OS by their URI, and the hosts that are on.
	images map[string]image.Image
	hosts  map[int]*nspawn.Host
}

func (n *nodes) immovable() string { return "" }

// resets is false, because these hosts have no recovery system.
func (n *nodes) resets() bool { return false }

func (n *nodes) start(ctx context.Context) framework.ClusterProxy {
	GinkgoHelper()
	for _, missing := range []string{nspawn.MissingForHosts(), nspawn.MissingForNodes()} {
		Expect(missing).To(BeEmpty(), "real nodes cannot run here")
	}
	osimage.LockCLI()
	nspawn.LockNodes()
	n.hosts = map[int]*nspawn.Host{}
	absolute, err := filepath.Abs(root)
	Expect(err).NotTo(HaveOccurred())
	n.setup = nspawn.New(nspawn.Options{Root: absolute, Images: n.podImages(), Hosts: true, Services: true})
	n.node = &nspawn.Node{
		Name: "e2e-management", Link: "elpods0", Machine: "10.213.200.1", Address: "10.213.200.2", Services: "10.0.0.0/24", DNS: "10.0.0.10", Pods: "10.244.0.0/24",
	}
	n.setup.ConnectNode(n.node)
	nspawn.Answer(n.node.Address)
	n.lab = suite.StartLab(ctx, lab.Options{
		Root: absolute, WithoutWorkload: true, WithoutKwok: true, PodsReach: n.node.Machine,
		Install: func(_ context.Context, l *lab.Lab) error {
			n.setup.StartNode(n.node, l.Management)
			return nil
		},
	})
	n.setup.Connect(n.lab.Registry)
	n.pushImages(ctx)
	n.setVariables()
	n.useLocalProviders(ctx)
	writeRepository(ctx)
	proxy := framework.NewClusterProxy("nodes", lab.AdminKubeconfig(n.lab.Management), newScheme())
	n.setup.InstallDNS(ctx, n.node)
	n.install(ctx, proxy)
	return proxy
}

// podImages are those of everything that the templates and clusterctl deploy.
func (n *nodes) podImages() map[string]nspawn.Program {
	GinkgoHelper()
	kubeadm := filepath.Join(root, "bin", "tools", "kubeadm")
	found := nspawn.ManagerImages(config.GetProviderVersions("elemental")[0])
	maps.Copy(found, nspawn.ControlPlaneImages(kubeadm))
	maps.Copy(found, nspawn.AddonImages(kubeadm))
	found[nspawn.PauseImage] = nspawn.Program{From: "lab/pod", As: "/pod"}
	vip := regexp.MustCompile(`\$\{KUBE_VIP_IMAGE:=([^}]+)\}`).FindStringSubmatch(osimage.Read(filepath.Join(root, "templates", kubeadmTemplate)))
	Expect(vip).NotTo(BeNil())
	found[vip[1]] = nspawn.Program{From: "tools/kube-vip", As: "/kube-vip"}
	return found
}

// pushImages sets the variables for the images.
func (n *nodes) pushImages(ctx context.Context) {
	GinkgoHelper()
	n.images = map[string]image.Image{}
	for variable, files := range map[string]osimage.Files{imageInstalled: nil, imageUpgrade: nil, imageBad: nspawn.FailingUnit} {
		pushed := n.setup.Push(ctx, strings.ToLower(variable), files)
		n.images[pushed.URI()] = pushed
		config.Variables[variable] = pushed.URI()
	}
}

func (n *nodes) setVariables() {
	GinkgoHelper()
	maps.Copy(config.Variables, map[string]string{
		"ELEMENTAL_API_ENDPOINT": fmt.Sprintf("%s:%d", nspawn.SharedAddress, nodesPort), "ELEMENTAL_API_IP": nspawn.SharedAddress,
		"ELEMENTAL_API_SERVICE_TYPE": "NodePort", "ELEMENTAL_API_NODE_PORT": fmt.Sprint(nodesPort),
		endpointHost: nspawn.VirtualAddress, "VIP_INTERFACE": nspawn.Uplink, "CNI": n.setup.ProxyRights(),
	})
}

// useLocalProviders names what is on this machine instead of Cluster API's releases, and the template that kubeadm accepts in a container.
func (n *nodes) useLocalProviders(ctx context.Context) {
	GinkgoHelper()
	files := suite.WriteClusterAPI(ctx, n.setup.Root(), GinkgoT().TempDir())
	for i := range config.Providers {
		version := &config.Providers[i].Versions[0]
		if config.Providers[i].Name != "elemental" {
			version.Value = files[config.Providers[i].Type]
			Expect(version.Value).NotTo(BeEmpty(), config.Providers[i].Type)
			continue
		}
		for j := range version.Files {
			n.adaptTemplate(&version.Files[j])
		}
	}
}

// adaptTemplate makes kubeadm accept a container with cgroup v1. kube-proxy is a unit of these hosts, because it could not set kernel parameters
// in a Pod.
func (n *nodes) adaptTemplate(file *clusterctl.Files) {
	GinkgoHelper()
	if file.TargetName != kubeadmTemplate {
		return
	}
	const tolerated = "ignorePreflightErrors: [SystemVerification]\n"
	text := osimage.Read(file.SourcePath)
	for before, more := range map[string]string{
		"  kubeadmConfigSpec:\n": "    initConfiguration:\n      skipPhases: [addon/kube-proxy]\n      nodeRegistration:\n        " + tolerated +
			"    joinConfiguration:\n      nodeRegistration:\n        " + tolerated,
		"          imagePullPolicy: IfNotPresent\n": "          " + tolerated,
	} {
		Expect(strings.Count(text, before)).To(Equal(1), before)
		text = strings.Replace(text, before, before+more, 1)
	}
	file.SourcePath = filepath.Join(artifacts, kubeadmTemplate)
	Expect(os.WriteFile(file.SourcePath, []byte(text), 0o600)).To(Succeed())
}

func (n *nodes) install(ctx context.Context, into framework.ClusterProxy) {
	GinkgoHelper()
	n.setup.InstallCertManager(ctx, into.GetKubeconfigPath())
	initialize(ctx, into)
}

func (n *nodes) prepare(context.Context, string, string) map[string]string {
	return map[string]string{}
}

func (n *nodes) switchOn(_ context.Context, _, name, image string, agentConfig []byte) {
	GinkgoHelper()
	number := 1
	for n.hosts[number] != nil {
		number++
	}
	DeferCleanup(func() { delete(n.hosts, number) })
	n.hosts[number] = n.setup.NewHost(name, number, n.images[image], agentConfig)
}

// routeAPITo routes the shared address to the management cluster's Node, or to the host that has the control plane's address.
func (n *nodes) routeAPITo(ctx context.Context, to framework.ClusterProxy) {
	GinkgoHelper()
	for _, host := range n.hosts {
		host.Share(false)
	}
	if to == management {
		nspawn.Answer(n.node.Address)
		return
	}
	var announcing *nspawn.Host
	Eventually(func() *nspawn.Host { announcing = n.announcing(); return announcing }).WithContext(ctx).ShouldNot(BeNil(), nspawn.VirtualAddress)
	announcing.Share(true)
}

// announcing is the host that has the control plane's address.
func (n *nodes) announcing() *nspawn.Host {
	for _, host := range n.hosts {
		if host.Has(nspawn.VirtualAddress) {
			return host
		}
	}
	return nil
}
