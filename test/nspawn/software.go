// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nspawn

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// prepareSoftware writes what all hosts and Nodes have in /usr.
func (s *Setup) prepareSoftware() {
	GinkgoHelper()
	s.usr = filepath.Join(GinkgoT().TempDir(), "usr")
	for to, from := range s.programs() {
		osimage.MakeDirs(filepath.Dir(filepath.Join(s.usr, to)))
		osimage.Run("cp", "--dereference", from, filepath.Join(s.usr, to))
	}
	Expect(os.Symlink("grub-editenv", filepath.Join(s.usr, "bin/grub2-editenv"))).To(Succeed())
	units := filepath.Join(s.usr, "lib/systemd/system")
	osimage.CopyTo(units, filepath.Join(s.root, "hack/os/files/kubeadm/usr/lib/systemd/system/*"))
	osimage.CopyTo(units, filepath.Join(s.root, "agent/units/*.service"))
	if s.options.cgroupV2 {
		osimage.CopyTo(units, s.testdata("units/lab-images.service"))
	} else {
		osimage.CopyTo(units, s.testdata("units/*"))
	}
	osimage.CopyTo(filepath.Join(s.usr, "lib/lab"), s.testdata("scripts/*"))
	osimage.CopyTo(filepath.Join(s.usr, "lib/lab/kubelet.d"), s.testdata("kubelet.conf"))
	osimage.MakeDirs(filepath.Join(s.usr, "libexec/kubernetes/kubelet-plugins/volume/exec")) // kubeadm's control plane mounts it, and /usr is read-only
	s.pack(filepath.Join(s.usr, "lib/lab/pods.tar"), s.options.Images)
}

// programs of hosts and Nodes by their path below /usr.
func (s *Setup) programs() map[string]string {
	GinkgoHelper()
	found := map[string]string{"bin/kubelet": s.Built("tools/kubelet"), "bin/kubeadm": s.Built("tools/kubeadm"), "bin/cri-ready": s.Built("tools/cri-ready")}
	if s.options.Services {
		found["bin/kube-proxy"] = s.Built("tools/kube-proxy")
	}
	if s.options.Hosts {
		found["bin/elemental"], found["sbin/elemental-agent"] = osimage.CLI(s.root), s.Built("elemental-agent")
	}
	return found
}
