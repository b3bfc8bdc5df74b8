// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

const (
	nodeName = "pods-node"
	script   = "testdata/node.sh"
	// nodes is the folder of the suite on real nodes, whose units and settings this Node has, too.
	nodes = "../nodes/testdata"
	// machineAddress and nodeAddress are those of this machine and of the Node in their network, as in the script.
	machineAddress, nodeAddress = "10.213.200.1", "10.213.200.2"
)

// enabled are the units that the Node starts.
var enabled = []string{"containerd.service", "kubelet.service", "lab-images.service", "kube-proxy.service"}

// connect gives the Node its network.
func connect() {
	GinkgoHelper()
	do := func(what string) *exec.Cmd {
		command := exec.Command("bash", script, what)
		command.Env = append(os.Environ(), "NAME="+nodeName)
		return command
	}
	Expect(do("clean").Run()).To(Succeed()) // of a run that was killed
	DeferCleanup(func() { Expect(do("clean").Run()).To(Succeed()) })
	said, err := do("connect").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(said))
}

// startNode boots the Node, which joins the cluster. It is switched off when the suite ends.
func startNode(cluster *kube.Cluster) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	makeTree(filepath.Join(dir, "tree"), cluster)
	makeSoftware(filepath.Join(dir, "usr"))
	path, err := filepath.Abs(script)
	Expect(err).NotTo(HaveOccurred())
	booted, err := process.Start(process.Spec{
		Died: func(failure error) {
			defer GinkgoRecover()
			Fail(failure.Error())
		},
		Name: nodeName, Path: "/bin/bash", Args: []string{path, "boot"}, LogDir: dir, Env: []string{"NODE=" + dir, "NAME=" + nodeName},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		booted.Kill()
		Eventually(os.ReadFile).WithArguments(filepath.Join("/sys/fs/cgroup/unified/elemental-pods", nodeName, "cgroup.events")).
			Should(ContainSubstring("populated 0"))
		keepJournal(dir, booted)
	})
}

// makeTree makes the root file system of the Node, but for /usr, as kubeadm would leave it.
func makeTree(tree string, cluster *kube.Cluster) {
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
	kubeconfig, err := cluster.Kubeconfig("kubelet")
	Expect(err).NotTo(HaveOccurred())
	for path, content := range map[string]string{
		"etc/kubernetes/kubelet.conf":       string(kubeconfig),
		"var/lib/kubelet/config.yaml":       read(filepath.Join(nodes, "kubelet.yaml")) + read("testdata/kubelet.yaml"),
		"var/lib/kubelet/kubeadm-flags.env": fmt.Sprintf("KUBELET_KUBEADM_ARGS=\"--hostname-override=%s --node-ip=%s\"\n", nodeName, nodeAddress),
		"etc/containerd/config.toml":        read(filepath.Join(nodes, "containerd.toml")),
		"etc/cni/net.d/10-pods.conflist":    read("testdata/cni.conflist"),
		"etc/hosts":                         "127.0.0.1 localhost\n",
		"etc/resolv.conf":                   "",
		"etc/machine-id":                    "11111111111111111111111111111111\n",
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

// makeSoftware makes what the Node has in /usr above that of this machine.
func makeSoftware(usr string) {
	GinkgoHelper()
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
	run("cp", filepath.Join(nodes, "scripts/cgroups"), "testdata/kube-proxy.yaml", lab)
	packImages(filepath.Join(lab, "pods.tar"))
}

// keepJournal copies what the Node has said to bin/logs.
func keepJournal(dir string, booted *process.Process) {
	GinkgoHelper()
	said, _ := exec.Command("journalctl", "--no-pager", "--quiet", "--directory", filepath.Join(dir, "tree/var/log/journal")).CombinedOutput()
	write(filepath.Join(root, "bin/logs/pods/node.journal"), string(said))
	logs := filepath.Join(root, "bin/logs/pods/pods")
	Expect(os.RemoveAll(logs)).To(Succeed())
	run("cp", booted.LogFile(), filepath.Join(root, "bin/logs/pods/node.console"))
	_ = exec.Command("cp", "-r", filepath.Join(dir, "tree/var/log/pods"), logs).Run() // where one has started
}

func read(path string) string {
	GinkgoHelper()
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}
