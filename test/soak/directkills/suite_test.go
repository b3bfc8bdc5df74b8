// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package directkills_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/killtable"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// patience is the timeout for what has to happen soon.
	patience = specs.Patience
	look     = 50 * time.Millisecond

	// alone is the Machine that nobody owns, and the template that it was made from.
	alone = "alone"
	// guest is a virtual machine on it that cannot be migrated.
	guest = "guest"
)

var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
	// node is that of the Machine.
	node scenario.Identity
	// scene is the stage of all side effects, and table has the kills.
	scene *killtable.Stage
	table *killtable.Table
)

func TestDirectKills(t *testing.T) {
	specs.Run(t, "DirectKills")
}

// The node has something to do at each step: it is paused, and a virtual machine and Pods have to leave it.
var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{KubeVirt: true})
	suite.KeepsMachines(theLab)
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "direct", Workers: 1, Spare: 1})
	Expect(cluster.CopyTemplate(ctx, alone)).To(Succeed())
	Expect(cluster.CreateMachine(ctx, alone, alone, nil)).To(Succeed())
	Expect(cluster.AwaitMachines(ctx, alone)).To(Succeed())
	Expect(cluster.AwaitRolledOut(ctx, alone)).To(Succeed())
	var err error
	node, err = cluster.Identity(ctx, alone)
	Expect(err).NotTo(HaveOccurred())
	Expect(cluster.PatchUpgradeOption(ctx, `{"strategy":{"mode":"Manual","pauseNodes":["`+node.Node+`"]}}`)).To(Succeed())
	web := suite.Web(2)
	web.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node.Node}
	Expect(theLab.WorkloadKube.Create(ctx, web)).To(Succeed())
	Expect(cluster.AwaitWeb(ctx)).To(Succeed())
	_, err = cluster.CreateVM(ctx, vm.Spec{
		Name: guest, Require: node.Node, Labels: map[string]string{infrav1.VMPolicyLabel: string(infrav1.VMPolicyShutdownAndRestore)},
	})
	Expect(err).NotTo(HaveOccurred())
	openStage(ctx)
})

func openStage(ctx SpecContext) {
	GinkgoHelper()
	table = killtable.NewTable(killtable.InFocus(killtable.ReadEdges(committed)), killtable.ManagerAlone())
	opened, closeStage, err := killtable.Open(ctx, theLab, cluster, theLab.Host(node.Node), table)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(closeStage)
	scene = opened
}
