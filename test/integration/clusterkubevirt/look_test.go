// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterkubevirt_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

func edit(ctx context.Context, change func(*kubevirtv1.KubeVirtSpec)) {
	GinkgoHelper()
	Eventually(func() error { return theLab.KubeVirt.Edit(ctx, change) }).Should(Succeed(), "the operator validates it")
}

func status(ctx context.Context) func() (infrav1.ElementalClusterUpgradeStatus, error) {
	return func() (infrav1.ElementalClusterUpgradeStatus, error) {
		found, err := cluster.Upgrade(ctx, upgrade)
		return found.Status, err
	}
}

func kubeVirt(ctx context.Context) func() (*kubevirtv1.KubeVirt, error) {
	return func() (*kubevirtv1.KubeVirt, error) { return theLab.KubeVirt.Look(ctx) }
}

// begun are the hosts whose attempts at an image have been past Admit.
func begun(ctx context.Context, wanted image.Image) func() ([]string, error) {
	return func() ([]string, error) {
		found, err := cluster.Attempts(ctx)
		hosts := []string{}
		for i := range found {
			if found[i].Spec.ImageURI == wanted.URI() && attempts.HasEntered(&found[i], attempts.StepCordon) {
				hosts = append(hosts, found[i].Spec.HostName)
			}
		}
		return hosts, err
	}
}

// createVMs that can be migrated.
func createVMs(ctx context.Context, count int) []vm.State {
	GinkgoHelper()
	guests := []vm.State{}
	for n := range count {
		guest, err := cluster.CreateVM(ctx, vm.Spec{Name: fmt.Sprintf("guest-%d", n), EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate})
		Expect(err).NotTo(HaveOccurred())
		guests = append(guests, guest)
	}
	return guests
}

// expectUpdated expects that the virtual machines are the same as before, and run on launchers of the new version.
func expectUpdated(ctx context.Context, guests []vm.State) {
	GinkgoHelper()
	for n := range guests {
		instance := &kubevirtv1.VirtualMachineInstance{}
		key := client.ObjectKey{Namespace: vm.Namespace, Name: fmt.Sprintf("guest-%d", n)}
		Expect(theLab.WorkloadKube.Get(ctx, key, instance)).To(Succeed())
		Expect(instance).To(And(HaveField("UID", guests[n].UID), HaveField("Status.Phase", kubevirtv1.Running),
			HaveField("Status.LauncherContainerImageVersion", HaveSuffix(":"+kubevirt.NextVersion)),
			HaveField("Labels", Not(HaveKey(kubevirtv1.OutdatedLauncherImageLabel)))))
	}
}

// expectMovedWithNodes expects that virtual machines were migrated for no other reason than that their nodes were drained.
func expectMovedWithNodes(ctx context.Context) {
	GinkgoHelper()
	migrations := &kubevirtv1.VirtualMachineInstanceMigrationList{}
	Expect(theLab.WorkloadKube.List(ctx, migrations)).To(Succeed())
	Expect(migrations.Items).To(And(Not(BeEmpty()), HaveEach(HaveField("Name", HavePrefix("kubevirt-evacuation-")))))
	created := 0
	for _, event := range suite.Audit(cluster.Workload()) {
		if ref := event.ObjectRef; ref != nil && ref.Resource == "virtualmachineinstancemigrations" && ref.Subresource == "" && event.Verb == "create" && audit.Succeeded(event) {
			created++
		}
	}
	Expect(created).To(Equal(len(migrations.Items)), "the list has all of them")
}
