// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

const (
	script = "testdata/node.sh"
	// nodes is the folder of the suite on real nodes, whose units and settings these Nodes have, too.
	nodes = "../nodes/testdata"
	// apiAddress is shared by the Nodes: hosts reach the Elemental API there, at the Node that answers.
	apiAddress = "10.213.202.1"
)

// enabled are the units that a Node starts.
var enabled = []string{"containerd.service", "kubelet.service", "lab-images.service", "kube-proxy.service"}

// podNode is a Node for Pods, with a network of its own.
type podNode struct {
	name string
	// link to this machine, with the addresses of both.
	link, machine, address string
	// services and pods are the networks of its cluster, and dns the address of its DNS.
	services, dns, pods string
	// cluster that it has joined.
	cluster *kube.Cluster
}

func (n *podNode) run(what string) error {
	command := exec.Command("bash", script, what)
	command.Env = append(os.Environ(), "NAME="+n.name, "LINK="+n.link, "HERE="+n.machine, "THERE="+n.address, "SERVICES="+n.services, "PODS="+n.pods, "SHARED="+apiAddress)
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s of %s: %w: %s", script, what, n.name, err, said)
	}
	return nil
}

// connect gives the Node its network.
func (n *podNode) connect() {
	GinkgoHelper()
	Expect(n.run("clean")).To(Succeed()) // of a run that was killed
	DeferCleanup(n.run, "clean")
	Expect(n.run("connect")).To(Succeed())
}

// answer lets hosts reach the Elemental API at this Node.
func (n *podNode) answer() {
	GinkgoHelper()
	Expect(n.run("point")).To(Succeed())
}

// start boots the Node, which joins a cluster. It is switched off when the suite ends.
func (n *podNode) start(cluster *kube.Cluster) {
	GinkgoHelper()
	n.cluster = cluster
	dir := GinkgoT().TempDir()
	n.makeTree(filepath.Join(dir, "tree"))
	path, err := filepath.Abs(script)
	Expect(err).NotTo(HaveOccurred())
	booted, err := process.Start(process.Spec{
		Died: func(failure error) {
			defer GinkgoRecover()
			Fail(failure.Error())
		},
		Name: n.name, Path: "/bin/bash", Args: []string{path, "boot"}, LogDir: dir, Env: []string{"DIR=" + dir, "USR=" + software, "NAME=" + n.name},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		booted.Kill()
		Eventually(os.ReadFile).WithArguments(filepath.Join("/sys/fs/cgroup/unified/elemental-pods", n.name, "cgroup.events")).
			Should(ContainSubstring("populated 0"))
		n.keepJournal(dir, booted)
	})
}

// read a file with what is different for each Node.
func (n *podNode) read(path string) string {
	GinkgoHelper()
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return strings.NewReplacer("$DNS", n.dns, "$PODS", n.pods).Replace(string(content))
}

// kubectl runs kubectl on the cluster of the Node, and prints the command.
func (n *podNode) kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	GinkgoWriter.Println("$ kubectl", strings.Join(args, " "))
	command := theLab.Kubectl
	if n.cluster == theLab.Workload {
		command = theLab.WorkloadKubectl
	}
	said, err := command(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return said
}

// makeTree makes the root file system of the Node, but for /usr, as kubeadm would leave it.
func (n *podNode) makeTree(tree string) {
	GinkgoHelper()
	for _, dir := range []string{"dev", "proc", "sys", "run", "tmp", "usr", "var/log/journal", "etc", "root", "home", "srv", "opt", "mnt", "var/lib/kubelet"} {
		Expect(os.MkdirAll(filepath.Join(tree, dir), 0o755)).To(Succeed())
	}
	for _, link := range []string{"bin", "sbin", "lib", "lib64"} {
		Expect(os.Symlink("usr/"+link, filepath.Join(tree, link))).To(Succeed())
	}
	for _, name := range []string{"passwd", "group", "nsswitch.conf", "ld.so.cache", "alternatives", "pam.d", "dbus-1", "security"} {
		run("cp", "-a", filepath.Join("/etc", name), filepath.Join(tree, "etc"))
	}
	id := sha256.Sum256([]byte(n.name))
	kubeconfig, err := n.cluster.Kubeconfig("kubelet")
	Expect(err).NotTo(HaveOccurred())
	for path, content := range map[string]string{
		"etc/kubernetes/kubelet.conf":       string(kubeconfig),
		"etc/kubernetes/kube-proxy.yaml":    n.read("testdata/kube-proxy.yaml"),
		"var/lib/kubelet/config.yaml":       n.read(filepath.Join(nodes, "kubelet.yaml")) + n.read("testdata/kubelet.yaml"),
		"var/lib/kubelet/kubeadm-flags.env": fmt.Sprintf("KUBELET_KUBEADM_ARGS=\"--hostname-override=%s --node-ip=%s\"\n", n.name, n.address),
		"etc/containerd/config.toml":        n.read(filepath.Join(nodes, "containerd.toml")),
		"etc/cni/net.d/10-pods.conflist":    n.read("testdata/cni.conflist"),
		"etc/hosts":                         "127.0.0.1 localhost\n",
		"etc/resolv.conf":                   "",
		"etc/machine-id":                    fmt.Sprintf("%x\n", id[:16]),
		"etc/ssl/certs/.keep":               "",
		"etc/os-release":                    "ID=elemental-test\n",
		"etc/systemd/system/getty.target":   "->/dev/null",
	} {
		write(filepath.Join(tree, path), content)
	}
	for _, unit := range enabled {
		write(filepath.Join(tree, "etc/systemd/system/multi-user.target.wants", unit), "->/usr/lib/systemd/system/"+unit)
	}
}

// software is the folder with what Nodes have in /usr above that of this machine.
var software string

func makeSoftware() {
	GinkgoHelper()
	software = GinkgoT().TempDir()
	usr := software
	units, lab := filepath.Join(usr, "lib/systemd/system"), filepath.Join(usr, "lib/lab")
	for _, dir := range []string{filepath.Join(usr, "bin"), units, lab} {
		Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	}
	for _, name := range []string{"kubelet", "kube-proxy"} {
		run("cp", "--dereference", built("tools/"+name), filepath.Join(usr, "bin"))
	}
	for _, from := range []string{
		filepath.Join(root, "hack/os/files/kubeadm/usr/lib/systemd/system/containerd.service"),
		filepath.Join(root, "hack/os/files/kubeadm/usr/lib/systemd/system/kubelet.service"),
		filepath.Join(root, "hack/os/files/kubeadm/usr/lib/systemd/system/kubelet.service.d"),
		filepath.Join(nodes, "units/lab-cgroups.service"), filepath.Join(nodes, "units/lab-images.service"),
		filepath.Join(nodes, "units/containerd.service.d"), filepath.Join(nodes, "units/kubelet.service.d"),
		"testdata/units/kube-proxy.service",
	} {
		run("cp", "-r", from, units)
	}
	run("cp", filepath.Join(nodes, "scripts/cgroups"), lab)
	packImages(filepath.Join(lab, "pods.tar"))
}

// keepJournal copies what the Node has said to bin/logs.
func (n *podNode) keepJournal(dir string, booted *process.Process) {
	GinkgoHelper()
	said, _ := exec.Command("journalctl", "--no-pager", "--quiet", "--directory", filepath.Join(dir, "tree/var/log/journal")).CombinedOutput()
	kept := filepath.Join(root, "bin/logs/pods", n.name)
	Expect(os.RemoveAll(kept)).To(Succeed())
	write(filepath.Join(kept, "journal"), string(said))
	run("cp", booted.LogFile(), filepath.Join(kept, "console"))
	_ = exec.Command("cp", "-r", filepath.Join(dir, "tree/var/log/pods"), kept).Run() // where one has started
}
