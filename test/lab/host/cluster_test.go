// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/units"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

const joinConfiguration = `apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    apiServerEndpoint: 127.0.0.1:6443
    token: abcdef.0123456789abcdef
nodeRegistration:
  kubeletExtraArgs:
  - name: node-labels
    value: pool=a
  taints:
  - key: node.cluster.x-k8s.io/uninitialized
    effect: NoSchedule
`

// bootstrapFile is what Cluster API's kubeadm provider generates from a configuration, as a yip
// file that deletes itself on success.
func bootstrapFile(configuration string) []byte {
	GinkgoHelper()
	data, err := cloudinit.NewNode(&cloudinit.NodeInput{
		BaseUserData:      cloudinit.BaseUserData{PreKubeadmCommands: []string{"hostname host-1"}, WriteFiles: []bootstrapv1.File{}},
		JoinConfiguration: configuration,
	})
	Expect(err).NotTo(HaveOccurred())
	_, text, found := strings.Cut(string(data), "#cloud-config\n")
	Expect(found).To(BeTrue())
	return []byte("#cloud-config\n" + text + `
stages:
  network.after:
  - if: '[ -f "/run/cluster-api/bootstrap-success.complete" ]'
    commands:
    - rm /oem/bootstrap-cloud-config.yaml
`)
}

const bootstrapPath = disk.OEMDir + "/bootstrap-cloud-config.yaml"

var _ = Describe("The Node of a host", func() {
	joined := func() *lab {
		GinkgoHelper()
		l := newLab()
		Expect(l.Disk().WriteFile(bootstrapPath, bootstrapFile(joinConfiguration))).To(Succeed())
		l.run("systemctl", "reboot")
		l.awaitBoot(2)
		Eventually(l.kubelet.Log).Should(Equal([]string{"register host-1", "up v1"}))
		return l
	}

	It("joins once, in the boot that finds the bootstrap file", func() {
		l := joined()
		Expect(read(l.Path(disk.BootstrapOK))).To(Equal("success"))
		Expect(l.Path(bootstrapPath)).NotTo(BeAnExistingFile())
		Expect(l.Path("/run/kubeadm/kubeadm-join-config.yaml")).To(BeAnExistingFile())
		Expect(units.Read(l.Path())).To(HaveKeyWithValue(units.Kubelet, units.Active))
		b := l.kubelet.last()
		Expect(b.BootID).To(Equal(l.Boots()[1].ID))
		Expect(b.KubeletVersion).To(Equal(host.DefaultKubeletVersion))
		Expect(b.MachineID).To(HaveLen(32))
		Expect(b.Join.Labels).To(Equal(map[string]string{"pool": "a"}))
		Expect(b.Join.Taints).To(HaveLen(1))
	})

	It("follows its host through a reboot into another OS", func() {
		l := joined()
		machineID := l.kubelet.last().MachineID
		l.upgrade(l.push("v2", image.OS{KubeletVersion: "v1.37.0"}))
		l.run("systemctl", "reboot")
		l.awaitBoot(3)
		Eventually(l.kubelet.Log).Should(HaveLen(5))
		Expect(l.kubelet.Log()[2:]).To(ConsistOf("gone", "shut down host-1", "up v2"))
		b := l.kubelet.last()
		Expect(b.BootID).To(Equal(l.Boots()[2].ID))
		Expect(b.KubeletVersion).To(Equal("v1.37.0"))
		Expect(b.MachineID).To(Equal(machineID))
		Expect(l.Path(disk.BootstrapOK)).NotTo(BeAnExistingFile(), "/run is new")
	})

	It("is no longer updated when its host loses power", func() {
		l := joined()
		Expect(l.PowerOff(GinkgoT().Context())).To(Succeed())
		Expect(l.kubelet.Log()).To(Equal([]string{"register host-1", "up v1", "gone"}))
	})

	DescribeTable("does not join", func(configuration string, refuse error) {
		l := newLab()
		l.kubelet.Refuse(refuse)
		Expect(l.Disk().WriteFile(bootstrapPath, bootstrapFile(configuration))).To(Succeed())
		l.run("systemctl", "reboot")
		l.awaitBoot(2)
		Eventually(l.events.types).Should(ContainElement(host.JoinFailed))
		Expect(l.Path(disk.BootstrapOK)).NotTo(BeAnExistingFile())
		Expect(l.Path(bootstrapPath)).To(BeAnExistingFile())
		Eventually(func() (units.Units, error) { return units.Read(l.Path()) }).
			Should(HaveKeyWithValue("elemental-setup-boot.service", units.Failed), "yip runs runcmd in this stage")
		Expect(l.kubelet.Log()).To(BeEmpty())
	},
		Entry("with an invalid configuration", "kind: [", nil),
		Entry("without a discovery", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n", nil),
		Entry("where the API server refuses it", joinConfiguration, errors.New("forbidden")),
	)

	It("does not come back after a reset in recovery", func() {
		l := joined()
		Expect(l.Disk().WriteFile(disk.OEMDir+"/reset-cloud-config.yaml", []byte(`
name: Elemental reset
stages:
  network:
  - if: '[ -f /run/elemental/recovery_mode ]'
    commands:
    - elemental-agent reset --config /oem/elemental/agent/config.yaml
    - rm -f /oem/reset-cloud-config.yaml && systemctl reboot
`))).To(Succeed())
		l.run("grub2-editenv", l.Disk().GrubEnv(), "set", "next_entry=recovery")
		l.run("systemctl", "reboot")
		l.awaitBoot(4)
		Expect(l.outcomes()[2:]).To(Equal([]string{"recovery up", "active up"}))
		Expect(l.said()).To(ContainElement("reset --config " + l.Path("/oem/elemental/agent/config.yaml") + " --root " + l.Path()))
		f, err := l.State()
		Expect(err).NotTo(HaveOccurred())
		Expect(f.State.Snapshots[1].FromAction).To(Equal("reset"))
		Expect(units.Read(l.Path())).NotTo(HaveKey(units.Kubelet))
		Expect(l.kubelet.Log()[2:]).To(ConsistOf("gone", "shut down host-1"))
		Expect(read(l.Path("/etc/hostname"))).To(Equal("host-1"))
	})
})
