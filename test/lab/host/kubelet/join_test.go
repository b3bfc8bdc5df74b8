// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
)

const (
	head      = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
	token     = "discovery: {bootstrapToken: {token: a.b, apiServerEndpoint: x:1}}\n"
	joinKind  = "JoinConfiguration"
	mapArgs   = "nodeRegistration: {kubeletExtraArgs: {node-labels: 'a=b,c=', register-with-taints: 'k=v:NoSchedule'}}\n"
	listArgs  = "nodeRegistration: {name: n, kubeletExtraArgs: [{name: provider-id, value: 'elemental://x/y'}]}\n"
	initKind  = "InitConfiguration"
	initStart = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n"
)

var _ = Describe("A kubeadm configuration", func() {
	It("is read in both forms of the kubelet's arguments", func() {
		j, err := kubelet.ParseKubeadm([]byte(head+token+mapArgs), joinKind, "host-1")
		Expect(err).NotTo(HaveOccurred())
		Expect(j).To(Equal(kubelet.Join{
			NodeName: "host-1", Labels: map[string]string{"a": "b", "c": ""},
			Taints: []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}},
		}))
		j, err = kubelet.ParseKubeadm([]byte(head+token+listArgs), joinKind, "host-1")
		Expect(err).NotTo(HaveOccurred())
		Expect(j.NodeName).To(Equal("n"))
		Expect(j.ProviderID).To(Equal("elemental://x/y"))
	})

	It("creates a control plane node for an init and for a join with controlPlane", func() {
		for kind, text := range map[string]string{initKind: initStart, joinKind: head + token + "controlPlane: {}\n"} {
			j, err := kubelet.ParseKubeadm([]byte(text), kind, "cp")
			Expect(err).NotTo(HaveOccurred())
			Expect(j.ControlPlane).To(BeTrue())
			Expect(j.Labels).To(HaveKey("node-role.kubernetes.io/control-plane"))
			Expect(j.Taints).To(HaveLen(1))
		}
	})

	It("is restored from the host's disk", func() {
		root := GinkgoT().TempDir()
		_, ok, err := kubelet.LoadJoin(root)
		Expect(err).NotTo(HaveOccurred())
		Expect(ok).To(BeFalse())
		j := kubelet.Join{NodeName: "n", Labels: map[string]string{"a": "b"}}
		Expect(j.Save(root)).To(Succeed())
		loaded, ok, err := kubelet.LoadJoin(root)
		Expect(err).NotTo(HaveOccurred())
		Expect(ok).To(BeTrue())
		Expect(loaded).To(Equal(j))
	})

	DescribeTable("is refused", func(text, reason string) {
		_, err := kubelet.ParseKubeadm([]byte(text), joinKind, "host-1")
		Expect(err).To(MatchError(ContainSubstring(reason)))
	},
		Entry("when it is not YAML", "a: [", "reading kubeadm configuration"),
		Entry("when it is of another kind", initStart, "no JoinConfiguration in it"),
		Entry("when it is not kubeadm's", "apiVersion: v1\nkind: JoinConfiguration\n", "apiVersion"),
		Entry("without a discovery", head, "discovery"),
		Entry("without a token", head+"discovery: {bootstrapToken: {apiServerEndpoint: x:1}}", "discovery"),
		Entry("with a name that was not rendered", head+token+"nodeRegistration: {name: '{{ ds.meta_data.local_hostname }}'}", "nodeRegistration.name"),
		Entry("with a taint without effect", head+token+fmt.Sprintf("nodeRegistration: {kubeletExtraArgs: {register-with-taints: %q}}", "k"), "effect"),
	)
})

var _ = Describe("The configuration of RKE2", func() {
	It("is that of a server, the first one without another, or of an agent, which is no control plane", func() {
		const config = "token: t\nnode-label: [a=b]\n"
		join, isFirst, err := kubelet.ParseRKE2([]byte(config), kubelet.RKE2Server, "cp")
		Expect(err).NotTo(HaveOccurred())
		Expect(isFirst).To(BeTrue())
		Expect(join.ControlPlane).To(BeTrue())
		Expect(join.Labels).To(And(HaveKey("node-role.kubernetes.io/control-plane"), HaveKeyWithValue("a", "b")))
		for unit, isControlPlane := range map[string]bool{kubelet.RKE2Server: true, kubelet.RKE2Agent: false} {
			join, isFirst, err = kubelet.ParseRKE2([]byte(config+"server: https://cp:9345\n"), unit, "node")
			Expect(err).NotTo(HaveOccurred())
			Expect(isFirst).To(BeFalse())
			Expect(join.ControlPlane).To(Equal(isControlPlane))
			Expect(join.Service).To(Equal(unit))
		}
		_, _, err = kubelet.ParseRKE2([]byte("server: https://cp:9345\n"), kubelet.RKE2Agent, "node")
		Expect(err).To(MatchError(ContainSubstring("no token")))
	})
})
