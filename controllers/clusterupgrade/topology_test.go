// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("An ElementalClusterUpgrade of a topology", func() {
	var w *world

	const comes = "waiting until the topology of Cluster c gives pool a image " + imageB + ": see its condition TopologyReconciled"

	BeforeEach(func() {
		w = newWorld()
		apiserver.Change(ctx, c, w.template("a"), func(t *infrav1.ElementalMachineTemplate) {
			t.Labels = map[string]string{clusterv1.ClusterTopologyOwnedLabel: "", clusterv1.ClusterTopologyMachineDeploymentNameLabel: "a"}
		})
		w.changeTopology(func(t *clusterv1.Topology) {
			t.ClassRef.Name, t.Version = "class", "v1.36.0"
			t.Workers.MachineDeployments = []clusterv1.MachineDeploymentTopology{{Class: "workers", Name: "z"}, {Class: "workers", Name: "a"}}
			t.Workers.MachineDeployments[1].Variables.Overrides = []clusterv1.ClusterVariable{variable("another", "stays")}
		})
	})

	It("sets the variable of each pool, and leaves its template to Cluster API", func() {
		w.begin()
		Expect(w.overrides("a")).To(Equal(map[string]string{"another": "stays", inplace.OSImageVariable: imageB}))
		Expect(w.overrides("z")).To(BeEmpty(), "another pool")
		Expect(w.upgrade.Status.Message).To(Equal(comes))
		Expect(w.image("a")).To(Equal(imageA))
	})

	It("reports a variable that somebody has changed, and does not change it again", func() {
		w.begin()
		w.changeTopology(func(t *clusterv1.Topology) {
			t.Workers.MachineDeployments[1].Variables.Overrides[1] = variable(inplace.OSImageVariable, imageC)
		})
		Expect(w.settle().Message).To(Equal("another party has changed variable elementalOSImage of pool a in the topology of Cluster c, and it is not changed again: " +
			"set it to " + imageB + ", or set spec.cancel of the ElementalClusterUpgrade"))
		Expect(w.overrides("a")).To(HaveKeyWithValue(inplace.OSImageVariable, imageC))
	})

	It("does not end, when it is cancelled, before the topology has what is to be held", func() {
		w.begin()
		w.rollsOut("b")
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel = true })
		Expect(w.settle().Message).To(Equal("cancelled; " + comes + ", or put variable elementalOSImage of the pool back"))
		w.patch("a", imageB) // as the topology controller does
		of := w.rollsOut("a")
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeCancelled))
		Expect(isHeldBy(of)).To(Equal("edge"))
		Expect(w.overrides("a")).To(HaveKeyWithValue(inplace.OSImageVariable, imageB))
	})

	It("does not wait for the topology, when it is cancelled, to put the variable back", func() {
		w.begin()
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel, u.Spec.OnCancel = true, infrav1.CancelRevert })
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeCancelled))
		Expect(w.overrides("a")).NotTo(HaveKey(inplace.OSImageVariable))
	})

	It("replaces an override that means the same image in other words", func() {
		w.changeTopology(func(t *clusterv1.Topology) {
			t.Workers.MachineDeployments[1].Variables.Overrides[0] = variable(inplace.OSImageVariable, strings.TrimPrefix(imageB, "oci:"))
		})
		w.begin()
		Expect(w.overrides("a")).To(Equal(map[string]string{inplace.OSImageVariable: imageB}))
	})

	DescribeTable("puts the variable back with Revert", func(former ...string) {
		w.changeTopology(func(t *clusterv1.Topology) {
			var overrides []clusterv1.ClusterVariable
			for _, image := range former {
				overrides = append(overrides, variable(inplace.OSImageVariable, image))
			}
			t.Workers.MachineDeployments[1].Variables = clusterv1.MachineDeploymentVariables{Overrides: overrides}
		})
		w.begin()
		w.patch("a", imageB)
		w.settle()
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel, u.Spec.OnCancel = true, infrav1.CancelRevert })
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeCancelled))
		expected := map[string]string{}
		for _, image := range former {
			expected[inplace.OSImageVariable] = image
		}
		Expect(w.overrides("a")).To(Equal(expected))
	},
		Entry("where the pool had none"),
		Entry("where it had one", imageA),
	)

	It("says that a topology does not have what upgrades the recovery system", func() {
		w.begin(func(u *infrav1.ElementalClusterUpgrade) { u.Spec.OSVersion.UpgradeRecovery = ptr.To(true) })
		Expect(w.upgrade.Status.Message).To(HavePrefix("spec.osVersion.upgradeRecovery cannot be set in the topology of Cluster c: "))
		Expect(w.overrides("a")).NotTo(HaveKey(inplace.OSImageVariable))
	})

	It("says that a topology does not have the pool any more", func() {
		w.changeTopology(func(t *clusterv1.Topology) { t.Workers.MachineDeployments = t.Workers.MachineDeployments[:1] })
		w.begin()
		Expect(w.upgrade.Status.Message).To(Equal("the topology of Cluster c has no pool a"))
	})

	It("sets the variable of a control plane", func() {
		apiserver.Change(ctx, c, w.template("a"), func(t *infrav1.ElementalMachineTemplate) {
			delete(t.Labels, clusterv1.ClusterTopologyMachineDeploymentNameLabel)
		})
		w.begin()
		cluster := apiserver.Get(ctx, c, w.cluster)
		Expect(cluster.Spec.Topology.ControlPlane.Variables.Overrides).To(ConsistOf(variable(inplace.OSImageVariable, imageB)))
	})
})

// changeTopology of the Cluster.
func (w *world) changeTopology(how func(*clusterv1.Topology)) {
	GinkgoHelper()
	apiserver.Change(ctx, c, w.cluster, func(cluster *clusterv1.Cluster) { how(&cluster.Spec.Topology) })
}

// overrides of a pool's variables.
func (w *world) overrides(pool string) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	deployments := apiserver.Get(ctx, c, w.cluster).Spec.Topology.Workers.MachineDeployments
	for i := range deployments {
		if deployments[i].Name != pool {
			continue
		}
		for _, override := range deployments[i].Variables.Overrides {
			value := ""
			Expect(json.Unmarshal(override.Value.Raw, &value)).To(Succeed())
			found[override.Name] = value
		}
	}
	return found
}

// variable of a topology.
func variable(name, value string) clusterv1.ClusterVariable {
	GinkgoHelper()
	encoded, err := json.Marshal(map[string]string{"name": name, "value": value})
	Expect(err).NotTo(HaveOccurred())
	made := clusterv1.ClusterVariable{}
	Expect(json.Unmarshal(encoded, &made)).To(Succeed())
	return made
}
