// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// The provider of K3s control planes cannot be had: what it does here is to create a Machine with an ElementalMachine from a template.
// Its own rollouts begin by a change of its reference or its spec only, and neither is touched.
var _ = Describe("Machines of a K3s control plane, and one of nobody", Ordered, func() {
	const (
		template     = "standin"
		controlPlane = "cp-1"
		another      = "cp-2"
		alone        = "alone"
	)
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = newStandIn(ctx, "edge", template, []string{controlPlane, another}, alone)
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	It("are checked when the template is patched", func(ctx SpecContext) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: identityOf(ctx, cluster, alone).Node}}
		setUnschedulable := func(value string) {
			Expect(cluster.WorkloadKube().Patch(ctx, node, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"unschedulable":`+value+`}}`)))).To(Succeed())
		}
		try := func(ctx context.Context) error {
			_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalmachinetemplate", template, "--type", "merge", "--dry-run=server",
				"--patch", `{"spec":{"template":{"spec":{"osVersionManagement":{"osVersion":{"imageURI":"oci://registry.test/os:v2"}}}}}}`)
			return err
		}
		setUnschedulable("true")
		Eventually(try).WithContext(ctx).Should(MatchError(ContainSubstring(
			"Node/" + node.Name + ": was cordoned by someone else and is left alone: kubectl uncordon it to let its upgrade start [NodeSchedulable]")))
		setUnschedulable("null")
		Eventually(try).WithContext(ctx).Should(Succeed())
	})

	It("are upgraded one after the other, control planes first, when the template is patched", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchPool(ctx, template, wanted)).To(Succeed())
		_, err := cluster.AwaitMessage(ctx, wanted, "Admit", "allowQuorumLoss")
		Expect(err).NotTo(HaveOccurred(), "two members of etcd have no majority without one")
		Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)).To(Succeed())
		Expect(cluster.AwaitRolledOut(ctx, template)).To(Succeed())

		Expect(cluster.Identities(ctx)).To(Equal(before))
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(attempts).To(And(HaveLen(3), HaveEach(And(HaveField("Spec.Driver", infrav1.DriverDirect), HaveField("Status.Phase", infrav1.UpgradeSucceeded)))))
		order, err := ends(ctx, cluster, wanted)
		Expect(err).NotTo(HaveOccurred())
		order = slices.DeleteFunc(order, func(e end) bool { return e.Machine == alone }) // which does not wait for those that wait for consent
		Expect(order).To(Equal(endsOf(byNode(ctx, cluster, []string{controlPlane, another}), infrav1.UpgradeSucceeded)))
		downtimes := audit.Cordons(suite.Audit(cluster.Workload()))
		Expect(audit.MaxOverlap(downtimes)).To(Equal(1), "one node at a time")
	})

	It("begin nothing when they merely differ from the template", func(ctx SpecContext) {
		differs := suite.Push(ctx, cluster, image.OS{})
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalmachine", alone, "--type", "merge",
			"--patch", `{"spec":{"osVersionManagement":{"osVersion":{"imageURI":"`+differs.URI()+`"}}}}`)
		Expect(err).NotTo(HaveOccurred())
		Eventually(says).WithContext(ctx).WithArguments(cluster, template, infrav1.RolledOutCondition).
			Should(Equal(said{"False", infrav1.MachinesNotUpToDateReason}), "which is never hidden")
		Consistently(cluster.Attempts, calm).WithContext(ctx).Should(HaveLen(3))
	})
})
