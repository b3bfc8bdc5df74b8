// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

func attempt(name, uid string, changes ...func(*infrav1.ElementalHostUpgradeStatus)) infrav1.ElementalHostUpgrade {
	upgrade := infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	for _, change := range changes {
		change(&upgrade.Status)
	}
	return upgrade
}

func in(phase infrav1.UpgradePhase) func(*infrav1.ElementalHostUpgradeStatus) {
	return func(status *infrav1.ElementalHostUpgradeStatus) { status.Phase = phase }
}

func past(steps ...string) func(*infrav1.ElementalHostUpgradeStatus) {
	return func(status *infrav1.ElementalHostUpgradeStatus) {
		status.Phase = infrav1.UpgradeProgressing
		for _, step := range steps {
			status.Steps = append(status.Steps, infrav1.UpgradeStepStatus{Name: step})
		}
	}
}

var _ = Describe("The slots of a cluster", func() {
	It("are those of attempts that exist, by their ids", func() {
		slot := func(name, attempt string) infrav1.UpgradeSlot {
			return infrav1.UpgradeSlot{Upgrade: name, Attempt: attempt}
		}
		gone, renewed := slot("gone", "gone/11111111"), slot("again", "again/11111111")
		held, lost := slot("held", "held/11111111"), slot("lost", "lost/11111111")
		live := occupy([]infrav1.UpgradeSlot{gone, held, renewed, lost}, []infrav1.ElementalHostUpgrade{
			attempt("lost", "11111111", in(infrav1.UpgradeHostLost)), attempt("again", "22222222"), attempt("held", "11111111"), attempt("waits", "1"),
		})
		Expect(live.taken).To(HaveExactElements(held, lost))
		Expect(live.holders).To(HaveExactElements(HaveField("Name", "held"), HaveField("Name", "lost")))
	})
})

var _ = DescribeTable("mayEvacuate", func(expected bool, changes ...func(*infrav1.ElementalHostUpgradeStatus)) {
	upgrade := attempt("u", "1", changes...)
	Expect(mayEvacuate(&upgrade)).To(Equal(expected))
},
	Entry("one that has just been admitted", true),
	Entry("one that evacuates", true, past(stepCordon, stepEvacuateVMs)),
	Entry("one that has triggered its host and does not know what became of that", true, past(stepCordon, stepEvacuateVMs, stepTrigger)),
	Entry("one that is rebooting", false, past(stepTrigger, stepReboot)),
	Entry("one that restores what it has shut down", false, past(stepReboot, stepRestoreVMs)),
	Entry("one that has failed", false, past(stepEvacuateVMs), in(infrav1.UpgradeFailed)),
	Entry("one whose host is lost, which is after its reboot was asked for", false, past(stepTrigger, stepReboot), in(infrav1.UpgradeHostLost)),
)

// knows is a client of a cluster that has KubeVirt, or not. It is asked for nothing else.
type knows struct {
	client.Client
	mapper meta.RESTMapper
}

func (k knows) RESTMapper() meta.RESTMapper { return k.mapper }

func clusterWith(kubeVirt bool) *workload.Cluster {
	mapper := meta.NewDefaultRESTMapper(nil)
	if kubeVirt {
		mapper.Add(kubevirtv1.VirtualMachineInstanceGroupVersionKind, meta.RESTScopeNamespace)
	}
	return workload.New(nil, knows{mapper: mapper}).With(kubevirt.Resident{})
}

var _ = DescribeTable("an evacuation", func(ctx SpecContext, expected string, kubeVirt bool, holders ...infrav1.ElementalHostUpgrade) {
	o := typical(func(o *observation) {
		o.workload = clusterWith(kubeVirt)
		o.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{kubevirt.SchedulableLabel: "true"}}}
	})
	pointers := []*infrav1.ElementalHostUpgrade{}
	for i := range holders {
		pointers = append(pointers, &holders[i])
	}
	a := &admission{observation: o, slots: occupancy{holders: pointers}}
	Expect(a.readEvacuation(ctx)).To(Succeed())
	Expect(firstHold(a)).To(Equal(expected))
},
	Entry("nobody holds a slot", "", true),
	Entry("the first evacuates its node",
		"EvacuationBusy: waiting for ElementalHostUpgrade z to have evacuated its node: virtual machines leave one node at a time",
		true, attempt("a", "1", past(stepReboot)), attempt("z", "1", past(stepEvacuateVMs))),
	Entry("all have evacuated theirs", "", true, attempt("a", "1", past(stepReboot)), attempt("z", "1", past(stepReboot), in(infrav1.UpgradeHostLost))),
	Entry("there are no virtual machines", "", false, attempt("z", "1", past(stepEvacuateVMs))),
)

var _ = It("looks for no virtual machines while no slot is free", func(ctx SpecContext) {
	a := &admission{observation: typical(func(o *observation) { o.workload = clusterWith(true) }), slots: holding(slotOf("a"))}
	Expect(a.readEvacuation(ctx)).To(Succeed())
	Expect(a.evacuates).To(BeFalse())
	Expect(firstHold(a)).To(HavePrefix("NoSlot: "))
})

var _ = It("leaves it to the other steps to wait for a workload cluster that does not answer", func(ctx SpecContext) {
	holder := attempt("z", "1")
	a := &admission{observation: typical(), slots: occupancy{holders: []*infrav1.ElementalHostUpgrade{&holder}}}
	Expect(a.readEvacuation(ctx)).To(Succeed())
	Expect(a.holds()).To(BeEmpty())
})
