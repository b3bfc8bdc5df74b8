// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

const (
	podImage = "localhost/pod:1"
	// sandboxImage is what containerd 1.6 runs in each Pod's sandbox by default.
	sandboxImage = "registry.k8s.io/pause:3.6"
)

// enabled are the units that systemd starts, besides its own: those of the toolkit, which "elemental init" has written, of the agent, and of hack/os.
var enabled = map[string][]string{
	"sysinit.target":        {"elemental-setup-fs.service"},
	"network-online.target": {"lab-network.service"},
	"multi-user.target": {
		"elemental-setup-boot.service", "elemental-setup-network.service", "elemental-boot-assessment.service", "elemental-agent.service",
		"containerd.service", "kubelet.service", "lab-images.service", "lab-limits.service",
	},
}

// etcOfMachine is what such a host has of /etc of this machine.
var etcOfMachine = []string{"ld.so.cache", "login.defs", "alternatives", "pam.d", "dbus-1", "security"}

// realSystemd is the init system whose programs are those of this machine, below those of the suite.
func realSystemd() initSystem {
	GinkgoHelper()
	software := systemdSoftware()
	return initSystem{
		hardware: hardware{software: software, sharesUsr: true, megabytes: 2048, processors: 2},
		files: func(agentConfig string) (ofImages, own files) {
			return systemdFiles(agentConfig), files{
				"kubelet/config.yaml": osimage.Read("testdata/kubelet.yaml"), "kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS=\"--hostname-override=" + nodeName + " --node-ip=10.0.2.15\"\n",
			}
		},
	}
}

// systemdFiles are in all images, because what a host changes in /etc is lost.
func systemdFiles(agentConfig string) files {
	GinkgoHelper()
	made := files{
		"etc/elemental/agent/config.yaml": agentConfig, "etc/ssl/certs/ca-certificates.crt": string(registry.CA()), "etc/kubernetes/kubelet.conf": kubeconfig(),
		"etc/machine-id": "0123456789abcdef0123456789abcdef\n", "etc/resolv.conf": "", "etc/hosts": "127.0.0.1 localhost\n",
		"etc/systemd/journald.conf.d/lab.conf":         "[Journal]\nStorage=volatile\nForwardToConsole=yes\nMaxLevelConsole=notice\n",
		"etc/systemd/system/getty.target":              "->/dev/null",
		"etc/cni/net.d/10-none.conflist":               `{"cniVersion": "0.4.0", "name": "none", "plugins": [{"type": "loopback"}]}`,
		"etc/containerd/config.toml":                   osimage.Read(filepath.Join(root, "hack/os/files/kubeadm/etc/containerd/config.toml")),
		"opt/cni/bin":                                  "->/usr/lib/cni",
		"etc/systemd/system/systemd-firstboot.service": "->/dev/null",
	}
	for target, units := range enabled {
		for _, unit := range units {
			from := "/usr/lib/systemd/system/"
			if _, err := os.Stat(filepath.Join(theTree.dir, "etc/systemd/system", unit)); err == nil {
				from = "/etc/systemd/system/"
			}
			made[filepath.Join("etc/systemd/system", target+".wants", unit)] = "->" + from + unit
		}
	}
	for _, path := range etcOfMachine {
		maps.Copy(made, filesBelow(filepath.Join("/etc", path)))
	}
	return made
}

// filesBelow has a file of this machine, or those in a directory.
func filesBelow(path string) files {
	GinkgoHelper()
	found := files{}
	Expect(filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
			return err
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			found[path] = "->" + target
			return err
		}
		content, err := os.ReadFile(path)
		found[path] = string(content)
		return err
	})).To(Succeed())
	return found
}

// kubeconfig of the kubelet: the API server of the suite, which the guest reaches at the same port of its loopback interface.
func kubeconfig() string {
	GinkgoHelper()
	config := clientcmdapi.NewConfig()
	config.Clusters["suite"] = &clientcmdapi.Cluster{Server: plane.Config.Host, CertificateAuthorityData: plane.Config.CAData}
	config.AuthInfos["kubelet"] = &clientcmdapi.AuthInfo{ClientCertificateData: plane.Config.CertData, ClientKeyData: plane.Config.KeyData}
	config.Contexts["suite"] = &clientcmdapi.Context{Cluster: "suite", AuthInfo: "kubelet"}
	config.CurrentContext = "suite"
	content, err := clientcmd.Write(*config)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// systemdSoftware makes the file system with what is not of this machine.
func systemdSoftware() string {
	GinkgoHelper()
	usr := nspawn.Software(map[string]nspawn.Program{podImage: {From: "lab/pod", As: "/pod"}, sandboxImage: {From: "lab/pod", As: "/pod"}})
	osimage.Run("cp", built("lab/guest"), filepath.Join(usr, "sbin/lab-network"))
	osimage.Run("sh", "-c", "cp testdata/units/* "+filepath.Join(usr, "lib/systemd/system"))
	osimage.Run("cp", "testdata/limits", filepath.Join(usr, "lib/lab"))
	image := filepath.Join(GinkgoT().TempDir(), "systemd.img")
	osimage.Run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", usr, image, "640M")
	return image
}
