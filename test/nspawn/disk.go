// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nspawn

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// partitions of an installed host in the order of the disk.
var partitions = []struct{ label, size string }{
	{"COS_GRUB", "32M"}, {"COS_OEM", "32M"}, {"COS_RECOVERY", "64M"}, {"COS_STATE", "1G"}, {"COS_PERSISTENT", "4G"},
}

// install creates the backing files of a host's partitions, as "elemental install" leaves them, with one snapshot. Its id is that of no other
// host's: the CLI takes a snapshot for booted whose id is attached anywhere.
func (h *Host) install(installed image.Image, agentConfig []byte) {
	GinkgoHelper()
	snapshot := 10*h.number + 1
	content := func(parts ...string) string { return filepath.Join(append([]string{h.dir, "content"}, parts...)...) }
	h.installSnapshot(content("COS_STATE", ".snapshots"), snapshot)
	boot := &grub.Env{}
	boot.Set(grub.DefaultMenuEntry, "Elemental")
	osimage.MakeDirs(content("COS_GRUB"), content("COS_OEM"))
	Expect(boot.Write(content("COS_GRUB", "grub_oem_env"))).To(Succeed())
	Expect((&grub.Env{}).Write(content("COS_OEM", "grubenv"))).To(Succeed())
	osimage.Record(content(), state.LoopDevice(), snapshot, installed)
	for path, text := range map[string]string{
		"hostname": h.Name + "\n", "machine-id": strings.Repeat(strconv.Itoa(h.number), 32) + "\n", "elemental/agent/config.yaml": string(agentConfig),
		"ssl/certs/ca-certificates.crt": string(h.setup.registry.CA()), "hosts": "127.0.0.1 localhost\n", "resolv.conf": "nameserver " + Gateway + "\n", "systemd/network/10-uplink.network": networkFile(h.number),
		"cni/net.d/10-pods.conflist": h.setup.filled("cni.conflist", podNetwork(h.number)), "kubernetes/kube-proxy.yaml": h.setup.filled("kube-proxy.yaml", podNetwork(h.number)),
	} {
		osimage.Write(content("COS_PERSISTENT", "etc", path), text)
	}
	osimage.MakeDirs(content("COS_PERSISTENT", "var", "log", "journal"))
	for _, each := range partitions {
		osimage.MakeDirs(content(each.label))
		osimage.Run("mke2fs", "-q", "-t", "ext4", "-L", each.label, "-d", content(each.label), filepath.Join(h.dir, each.label), each.size)
	}
	Expect(os.RemoveAll(content())).To(Succeed())
}

func (h *Host) installSnapshot(snapshots string, id int) {
	GinkgoHelper()
	name := strconv.Itoa(id)
	osimage.MakeDirs(filepath.Join(snapshots, name))
	tree := filepath.Join(h.dir, "tree")
	osimage.Run("cp", "-a", h.setup.tree, tree)
	osimage.Files{"etc/os-release": osimage.Release("v1")}.WriteTo(tree)
	osimage.Run("mke2fs", "-q", "-t", "ext2", "-L", "EL_SNAP"+name, "-d", tree, filepath.Join(snapshots, name, "snapshot.img"), "128M")
	Expect(os.Symlink(name+"/snapshot.img", filepath.Join(snapshots, "active"))).To(Succeed())
	Expect(os.RemoveAll(tree)).To(Succeed())
}

// attach gives each partition a loop device.
func (h *Host) attach() {
	GinkgoHelper()
	for _, each := range partitions {
		h.loops = append(h.loops, osimage.Run("losetup", "-f", "--show", filepath.Join(h.dir, each.label)))
	}
}

// detachLeft detaches the loop devices of files on the host's partitions, which a reboot does.
func (h *Host) detachLeft() {
	GinkgoHelper()
	own := map[string]bool{}
	for _, loop := range h.loops {
		own["7:"+strings.TrimPrefix(loop, "/dev/loop")] = true
	}
	for line := range strings.Lines(osimage.Run("losetup", "--list", "--noheadings", "--output", "NAME,BACK-MAJ:MIN")) {
		if fields := strings.Fields(line); len(fields) == 2 && own[fields[1]] {
			osimage.Run("losetup", "-d", fields[0])
		}
	}
}

// detach detaches the partitions, too.
func (h *Host) detach() {
	GinkgoHelper()
	h.detachLeft()
	for _, loop := range h.loops {
		osimage.Run("losetup", "-d", loop)
	}
}
