// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nspawn

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// SharedAddress is an address that all Nodes have, and a host while it shares it (Host.Share). This machine, and other hosts, reach the one to which Answer
// has routed it.
const SharedAddress = "10.213.202.1"

// Node of a cluster of the lab, on which Pods run.
type Node struct {
	Name string
	// Link to this machine, with the addresses of both.
	Link, Machine, Address string
	// Services and Pods are networks of its cluster, and DNS is the address of its DNS.
	Services, Pods, DNS string
	// Cluster that it has joined.
	Cluster *kube.Cluster
}

func (s *Setup) runScript(n *Node, what string) error {
	command := exec.Command("bash", s.testdata("node.sh"), what)
	command.Env = append(os.Environ(), "NAME="+n.Name, "LINK="+n.Link, "HERE="+n.Machine, "THERE="+n.Address, "SERVICES="+n.Services, "PODS="+n.Pods,
		"SHARED="+SharedAddress, "GROUP="+groups)
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("node.sh %s of %s: %w: %s", what, n.Name, err, said)
	}
	return nil
}

// ConnectNode gives a Node its network.
func (s *Setup) ConnectNode(n *Node) {
	GinkgoHelper()
	Expect(s.runScript(n, "clean")).To(Succeed()) // of a run that was killed
	DeferCleanup(s.runScript, n, "clean")
	Expect(s.runScript(n, "connect")).To(Succeed())
}

// Answer makes what this machine and hosts send to the shared address go to an address.
func Answer(address string) {
	GinkgoHelper()
	osimage.Run("ip", "route", "replace", SharedAddress+"/32", "via", address)
}

// StartNode boots a Node, which joins a cluster. It is switched off at the end of the node of Ginkgo.
func (s *Setup) StartNode(n *Node, cluster *kube.Cluster) {
	GinkgoHelper()
	n.Cluster = cluster
	dir := GinkgoT().TempDir()
	s.makeNodeTree(n, filepath.Join(dir, "tree"))
	booted, err := process.Start(process.Spec{
		Died: func(failure error) {
			defer GinkgoRecover()
			Fail(failure.Error())
		},
		Name: n.Name, Path: "/bin/bash", Args: []string{s.testdata("node.sh"), "boot"}, LogDir: dir,
		Env: []string{"DIR=" + dir, "USR=" + s.usr, "NAME=" + n.Name, "GROUP=" + groups},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		booted.Kill()
		awaitEmpty(n.Name)
		s.keepLogs(n, dir, booted)
	})
}

// awaitEmpty waits until no process of a host or Node is left.
func awaitEmpty(name string) {
	GinkgoHelper()
	Eventually(os.ReadFile).WithArguments(filepath.Join("/sys/fs/cgroup/unified", groups, name, "cgroup.events")).
		WithTimeout(time.Minute).WithPolling(look).Should(ContainSubstring("populated 0"))
}

// filled is a file of this package with the network of Pods, and the address of the DNS.
func (s *Setup) filled(name, pods string, dns ...string) string {
	GinkgoHelper()
	return strings.NewReplacer("$PODS", pods, "$DNS", strings.Join(dns, "")).Replace(osimage.Read(s.testdata(name)))
}

// makeNodeTree makes the root file system of a Node, but for /usr, as kubeadm would leave it.
func (s *Setup) makeNodeTree(n *Node, tree string) {
	GinkgoHelper()
	for _, dir := range []string{"dev", "proc", "sys", "run", "tmp", "usr", "var/log/journal", "etc", "root", "home", "srv", "opt", "mnt", "var/lib/kubelet"} {
		osimage.MakeDirs(filepath.Join(tree, dir))
	}
	for _, link := range []string{"bin", "sbin", "lib", "lib64"} {
		Expect(os.Symlink("usr/"+link, filepath.Join(tree, link))).To(Succeed())
	}
	for _, name := range fromMachine {
		osimage.Run("cp", "-a", filepath.Join("/etc", name), filepath.Join(tree, "etc"))
	}
	id := sha256.Sum256([]byte(n.Name))
	kubeconfig, err := n.Cluster.Kubeconfig("kubelet")
	Expect(err).NotTo(HaveOccurred())
	files := osimage.Files{
		"etc/kubernetes/kubelet.conf":       string(kubeconfig),
		"etc/kubernetes/kube-proxy.yaml":    s.filled("kube-proxy.yaml", n.Pods),
		"var/lib/kubelet/config.yaml":       s.filled("node-kubelet.yaml", n.Pods, n.DNS),
		"var/lib/kubelet/kubeadm-flags.env": fmt.Sprintf("KUBELET_KUBEADM_ARGS=\"--hostname-override=%s --node-ip=%s\"\n", n.Name, n.Address),
		"etc/containerd/config.toml":        osimage.Read(s.testdata("containerd.toml")),
		"etc/cni/net.d/10-pods.conflist":    s.filled("cni.conflist", n.Pods),
		"etc/hosts":                         "127.0.0.1 localhost\n",
		"etc/resolv.conf":                   "nameserver " + n.Machine + "\n",
		"etc/machine-id":                    fmt.Sprintf("%x\n", id[:16]),
		"etc/ssl/certs/.keep":               "",
		"etc/os-release":                    osimage.Release("Node"),
		"etc/systemd/system/getty.target":   "->/dev/null",
	}
	for _, unit := range []string{"containerd.service", "kubelet.service", "lab-images.service", "kube-proxy.service"} {
		files[filepath.Join("etc/systemd/system/multi-user.target.wants", unit)] = "->/usr/lib/systemd/system/" + unit
	}
	files.WriteTo(tree)
}

// keepLogs copies the journal of a Node and the logs of its Pods to bin/logs.
func (s *Setup) keepLogs(n *Node, dir string, booted *process.Process) {
	GinkgoHelper()
	said, _ := exec.Command("journalctl", "--no-pager", "--quiet", "--directory", filepath.Join(dir, "tree/var/log/journal")).CombinedOutput()
	kept := filepath.Join(s.root, "bin/logs/pods", n.Name)
	Expect(os.RemoveAll(kept)).To(Succeed())
	osimage.Write(filepath.Join(kept, "journal"), string(said))
	osimage.Run("cp", booted.LogFile(), filepath.Join(kept, "console"))
	_ = exec.Command("cp", "-r", filepath.Join(dir, "tree/var/log/pods"), kept).Run() // where one has started
}
