// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

var _ = It("The steps are those of an upgrade, and with Rancher two more: around all that needs the Node drained", func() {
	Expect(StepNamesOf(infrav1.DriverClusterAPI)).To(Equal([]string{
		"Preflight", "Prefetch", "Approve", "Admit", "Cordon", "EvacuateVMs", "Drain", "DetachVolumes", "Trigger", "Reboot", "Assess", "Uncordon", "RestoreVMs", "Settle",
	}))
	Expect(StepNamesOf(infrav1.DriverDirect)).To(Equal(StepNames()))
	Expect(StepNamesOf(infrav1.DriverRancherDrain)).To(Equal([]string{
		"Preflight", "Prefetch", "Approve", "Admit", "Cordon", "EvacuateVMs", "HandOver", "Drain", "DetachVolumes", "Trigger", "Reboot", "Assess", "HandBack", "Uncordon",
		"RestoreVMs", "Settle",
	}))
})

// drained has Rancher ask for a drain by the annotations of a plan secret.
func drained(annotations map[string]string) func(*observation) {
	return func(o *observation) {
		secret := rancher.NewSecret()
		secret.Annotations = annotations
		drain := rancher.Of(secret)
		o.drain = &drain
	}
}

// drainToken of a drain that asks both hooks.
const drainToken = `{"preDrainHooks":[{"annotation":"` + infrav1.RancherPreDrainAnnotation + `"}],"postDrainHooks":[{"annotation":"` + infrav1.RancherPostDrainAnnotation + `"}]}`

var (
	notAsked  = map[string]string{}
	asked     = map[string]string{rancher.DrainOptionsAnnotation: drainToken, rancher.PreDrainAnnotation: drainToken}
	oneHook   = map[string]string{rancher.DrainOptionsAnnotation: `{"postDrainHooks":[{"annotation":"` + infrav1.RancherPostDrainAnnotation + `"}]}`}
	withdrawn = map[string]string{rancher.DrainOptionsAnnotation: drainToken, rancher.PreDrainAnnotation: drainToken, rancher.UncordonAnnotation: drainToken}
)

func handedBack(o *observation) { enter(&o.upgrade.Status, stepHandBack, o.now) }

func outOfService(o *observation) { enter(&o.upgrade.Status, stepCordon, o.now) }

func hasSlot(o *observation) {
	o.elementalCluster.Status.UpgradeSlots = []infrav1.UpgradeSlot{o.slot()}
}

var _ = DescribeTable("An attempt in a drain of Rancher is interrupted", func(expected infrav1.UpgradePhase, changes ...func(*observation)) {
	phase, message := typical(changes...).interrupted()
	Expect(phase).To(Equal(expected))
	if expected == "" {
		Expect(message).To(BeEmpty())
	} else {
		Expect(message).NotTo(BeEmpty())
	}
},
	Entry("not while that is asked for", infrav1.UpgradePhase(""), drained(asked)),
	Entry("not before its node is out of service, whatever Rancher asks", infrav1.UpgradePhase(""), drained(notAsked)),
	Entry("not before its node is out of service, when the drain is reverted", infrav1.UpgradePhase(""), drained(withdrawn)),
	Entry("when it is not asked for any more", infrav1.UpgradeSuperseded, drained(notAsked), outOfService),
	Entry("when it is not asked for any more, in the moment in which the attempt has taken its slot", infrav1.UpgradeSuperseded, drained(notAsked), hasSlot),
	Entry("when only one hook is asked", infrav1.UpgradeSuperseded, drained(oneHook), outOfService),
	Entry("not once it has been handed back", infrav1.UpgradePhase(""), drained(notAsked), handedBack),
	Entry("when it is reverted", infrav1.UpgradeSuperseded, drained(withdrawn), outOfService),
	Entry("not once the host was triggered", infrav1.UpgradePhase(""), drained(notAsked), outOfService, labelled),
	Entry("not once the host has begun", infrav1.UpgradePhase(""), drained(withdrawn), outOfService, reported(infrav1.HostUpgradeRebooting)),
	Entry("not when the host has succeeded", infrav1.UpgradePhase(""), drained(notAsked), outOfService, reported(infrav1.HostUpgradeSucceeded)),
	Entry("by a person, whatever Rancher asks", infrav1.UpgradeAborted, drained(notAsked), cancelled),
	Entry("when another OS is wanted, whatever Rancher asks", infrav1.UpgradeSuperseded, drained(asked), otherHash),
)

var _ = DescribeTable("At Admit an attempt waits for Rancher", func(annotations map[string]string, expected string) {
	o := typical(drained(annotations))
	o.machine.Status.NodeRef.Name = "n"
	held := (&admission{observation: o}).awaitsDrain()
	if expected == "" {
		Expect(held).To(BeNil())
		return
	}
	Expect(held).To(And(HaveField("Reason", infrav1.HoldRancherNotDraining), HaveField("Object", "Node/n"), HaveField("Message", ContainSubstring(expected))))
},
	Entry("not while it asks both hooks", asked, ""),
	Entry("to drain the Node", notAsked, "waiting for Rancher to drain Node n, as it does for another version of Kubernetes. For the OS alone raise spec.rkeConfig.provisionGeneration"),
	Entry("to cordon the Node", map[string]string{rancher.DrainOptionsAnnotation: drainToken}, "waiting for Rancher to drain Node n"),
	Entry("to ask both hooks", oneHook, "does not ask both hooks in its drain of Node n: list them"),
	Entry("to drain the Node once more after a drain that was reverted", withdrawn, "was reverted: the upgrade waits for its next drain"),
)

var _ = It("At Admit an attempt does not say what has Rancher drain its Node while something else would have that wait", func() {
	a := &admission{observation: typical(drained(notAsked)), order: infrav1.NewHold(infrav1.HoldUpgradePaused, "u", "paused")}
	Expect(a.awaitsDrain()).To(HaveField("Message", Not(ContainSubstring("provisionGeneration"))))
})

var _ = It("An attempt that waits for Rancher is superseded when the record of its rollout is deleted", func() {
	o := typical(ofRollout("u", "r", ""), byRancher, drained(notAsked))
	o.rollout = nil
	phase, message := o.interrupted()
	Expect(phase).To(Equal(infrav1.UpgradeSuperseded))
	Expect(message).To(ContainSubstring("was deleted"))
})

// reports is a reader of an RKEControlPlane whose condition Ready has a message, or an error.
type reports struct {
	client.Reader
	message string
	err     error
}

func (r reports) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.(*unstructured.Unstructured).Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "message": r.message}}}
	return r.err
}

var _ = DescribeTable("What Rancher says itself is a part of what is waited for", func(ctx SpecContext, failed string, says reports, expected string) {
	annotations := map[string]string{rancher.DrainOptionsAnnotation: drainToken, rancher.DrainErrorAnnotation: failed}
	o := typical(drained(annotations))
	o.machine.Status.NodeRef.Name = "n"
	r := &Reconciler{APIReader: says}
	for _, step := range []struct {
		run  func(context.Context, *observation) (sequence.Result, error)
		what string
	}{{r.handOver, "waiting for Rancher to drain Node n"}, {r.handBack, "waiting for Rancher to uncordon Node n"}} {
		waits, err := step.run(ctx, o)
		Expect(err).NotTo(HaveOccurred())
		Expect(waits.IsDone()).To(BeFalse())
		Expect(waits.Message).To(Equal(step.what + expected))
	}
},
	Entry("nothing", "", reports{}, ""),
	Entry("the error of its drain", "refused", reports{message: "draining node"}, "; Rancher reports: refused"),
	Entry("the progress of its upgrade", "", reports{message: "draining node"}, "; Rancher reports: draining node"),
	Entry("nothing that cannot be read", "", reports{message: "draining node", err: context.DeadlineExceeded}, ""),
)
