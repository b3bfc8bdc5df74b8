// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"encoding/json"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// skips is a configuration that skips a phase of kubeadm.
func skips(phase string) map[string]any { return map[string]any{"skipPhases": []any{phase}} }

var _ = Describe("CanUpdateMachine for the Machine of kubeadm init", func() {
	var namespace string
	BeforeEach(func() { namespace = plane.NewNamespace(ctx, optIn) })

	DescribeTable("covers what differs only because init and join are configured differently",
		func(configured, current, desired map[string]any, uncovered string) {
			cluster, infrastructure := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{})
			kcp := ownertest.KubeadmControlPlane(namespace, "cp", "c", "new")
			Expect(json.Unmarshal(raw(configured).Raw, &kcp.Spec.KubeadmConfigSpec)).To(Succeed())
			plane.Create(ctx, cluster, infrastructure, kcp)
			plane.Create(ctx, client.Object(ownertest.ControlPlaneMachine(kcp, "m")))
			machine := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m"}, Spec: clusterv1.MachineSpec{ClusterName: "c"}}
			asked := &runtimehooksv1.CanUpdateMachineRequest{}
			asked.Current.Machine, asked.Desired.Machine = machine, machine
			elemental := ownertest.ElementalMachine(namespace, "m", "old", "a")
			elemental.TypeMeta = metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "ElementalMachine"}
			asked.Current.InfrastructureMachine = raw(elemental)
			elemental.Spec.OSVersionManagement = ownertest.ElementalMachine(namespace, "m", "new", "b").Spec.OSVersionManagement
			asked.Desired.InfrastructureMachine = raw(elemental)
			config := func(join map[string]any) map[string]any {
				return map[string]any{"kind": "KubeadmConfig", "spec": map[string]any{"joinConfiguration": join, "format": "cloud-config"}}
			}
			asked.Current.BootstrapConfig, asked.Desired.BootstrapConfig = raw(config(current)), raw(config(desired))
			handlers, _ := newHandlers()
			response := &runtimehooksv1.CanUpdateMachineResponse{}
			handlers.CanUpdateMachine(ctx, asked, response)
			if uncovered != "" {
				Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusFailure))
				Expect(response.Message).To(ContainSubstring("and this changes KubeadmConfig spec.joinConfiguration." + uncovered + " as well"))
				return
			}
			Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
			patch, err := jsonpatch.DecodePatch(response.BootstrapConfigPatch.Patch)
			Expect(err).NotTo(HaveOccurred())
			patched, err := patch.Apply(asked.Current.BootstrapConfig.Raw)
			Expect(err).NotTo(HaveOccurred())
			Expect(patched).To(MatchJSON(asked.Desired.BootstrapConfig.Raw), "Cluster API finds no difference")
		},
		Entry("skipped phases of init", map[string]any{"initConfiguration": skips("addon/kube-proxy"), "joinConfiguration": map[string]any{}},
			skips("addon/kube-proxy"), map[string]any{}, ""),
		Entry("other ones of join", map[string]any{"initConfiguration": skips("addon/kube-proxy"), "joinConfiguration": skips("preflight")},
			skips("addon/kube-proxy"), skips("preflight"), ""),
		Entry("but not a change of init itself", map[string]any{"initConfiguration": skips("addon/coredns"), "joinConfiguration": map[string]any{}},
			skips("addon/kube-proxy"), map[string]any{}, "skipPhases"),
		Entry("nor of a Machine that has joined", map[string]any{"joinConfiguration": skips("preflight")}, map[string]any{}, skips("kubelet-start"), "skipPhases"),
		Entry("nor of what is not converted", map[string]any{"initConfiguration": map[string]any{}}, map[string]any{"caCertPath": "/a"}, map[string]any{"caCertPath": "/b"}, "caCertPath"),
	)
})
