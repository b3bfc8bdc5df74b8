// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// typical is an attempt on a healthy worker that has not been triggered, with changes.
func typical(changes ...func(*observation)) *observation {
	upgrade := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: "12345678-90"}}
	upgrade.Spec = infrav1.ElementalHostUpgradeSpec{HostName: "h", MachineName: "m", ElementalMachineName: "em", ClusterName: "c",
		ImageURI: "oci://new", OSVersionManagement: osversion.OfImage("oci://new")}
	o := &observation{
		now: noon, upgrade: upgrade, attempt: attemptOf(upgrade), options: infrav1.NodeUpgradeOption{}.WithDefaults(),
		cluster:          &clusterv1.Cluster{},
		elementalCluster: &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Name: "ec"}},
		machine:          &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: clusterv1.MachineSpec{Version: "v1.36.3"}},
		host:             &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Name: "h"}},
		wanted:           &WantedOS{TemplateName: "t", OSVersionHash: osversion.Hash(upgrade.Spec.OSVersionManagement)},
		node:             &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
	}
	o.host.Spec.MachineRef = &infrav1.LocalReference{Name: "em"}
	o.host.Status.OS.BootID = "boot-2"
	o.node.Status.NodeInfo = corev1.NodeSystemInfo{BootID: "boot-2", KubeletVersion: "v1.36.3"}
	o.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, change := range changes {
		change(o)
	}
	return o
}

var _ = DescribeTable("An image has to be signed as", func(change func(*observation), prefix string) {
	asked := typical(change).request().ImageVerification
	if prefix == "" {
		Expect(asked).To(BeNil())
		return
	}
	Expect(asked.Rules).To(HaveExactElements(HaveField("Prefix", prefix)))
},
	Entry("nobody says", func(*observation) {}, ""),
	Entry("the cluster says", func(o *observation) { o.elementalCluster.Spec.ImageVerification = verificationOf("cluster") }, "cluster"),
	Entry("the registration has said, where the cluster says nothing", func(o *observation) { o.host.Spec.ImageVerification = verificationOf("host") }, "host"),
	Entry("the cluster says, whatever the registration has said", func(o *observation) {
		o.elementalCluster.Spec.ImageVerification, o.host.Spec.ImageVerification = verificationOf("cluster"), verificationOf("host")
	}, "cluster"),
)

func verificationOf(prefix string) *infrav1.ImageVerification {
	return &infrav1.ImageVerification{Rules: []infrav1.ImageVerificationRule{{Prefix: prefix}}}
}

func reported(phase infrav1.HostUpgradePhase) func(*observation) {
	return func(o *observation) {
		o.host.Status.Upgrade = &infrav1.HostUpgradeStatus{Attempt: o.attempt, Phase: phase, FromBootID: "boot-1", Digest: "sha256:new"}
	}
}

func labelled(o *observation) {
	o.host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: o.attempt, Digest: "sha256:new", TriggeredFor: new(hoststate.PresentBoot(o.host))}
	o.host.Labels = map[string]string{infrav1.InPlaceUpgradeLabel: infrav1.InPlaceUpgradePending}
}

// rebooted is after a boot that the trigger is not for.
func rebooted(o *observation) {
	labelled(o)
	o.host.Spec.Upgrade.TriggeredFor.BootID = "boot-0"
}

// triggeredForNone is a trigger that a manager has written that does not know the field.
func triggeredForNone(o *observation) {
	labelled(o)
	o.host.Spec.Upgrade.TriggeredFor = nil
}

func assessedForTooLong(o *observation) {
	assessing(o.options.Timeouts.Assessment() + time.Second)(o)
}

// assessing is an attempt that has been at its assessment for a while.
func assessing(since time.Duration) func(*observation) {
	return func(o *observation) {
		o.upgrade.Status.Steps = []infrav1.UpgradeStepStatus{{Name: stepAssess, StartTime: metav1.Time{Time: o.now.Add(-since)}}}
	}
}

// requested is what the ElementalMachine specifies: what the attempt is for, where the hash is empty.
func requested(hash string) func(*observation) {
	return func(o *observation) { o.requested = new(cmp.Or(hash, o.hash())) }
}

func cancelled(o *observation)  { o.upgrade.Spec.Cancel = true }
func byTemplate(o *observation) { o.upgrade.Spec.Driver = infrav1.DriverDirect }

func updating(o *observation) {
	o.machine.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
}

func otherHash(o *observation) { o.wanted.OSVersionHash = "other" }

// otherImage is what somebody makes up: it declares what the owner wants and offers something else.
func otherImage(o *observation) { o.upgrade.Spec.OSVersionManagement = osversion.OfImage("oci://evil") }
func noHost(o *observation)     { o.host = nil }
func noMachine(o *observation)  { o.machine = nil }
func deletedHost(o *observation) {
	o.host.DeletionTimestamp = &metav1.Time{Time: noon}
}
func noCluster(o *observation)  { o.cluster = nil }
func notReady(o *observation)   { o.node.Status.Conditions = nil }
func oldKubelet(o *observation) { o.node.Status.NodeInfo.KubeletVersion = "v1.35.0" }

var _ = DescribeTable("interrupted", func(expected infrav1.UpgradePhase, changes ...func(*observation)) {
	phase, message := typical(changes...).interrupted()
	Expect(phase).To(Equal(expected))
	if expected != "" {
		Expect(message).NotTo(BeEmpty(), "an end has a reason")
	}
},
	Entry("nothing happened", infrav1.UpgradePhase("")),
	Entry("cancelled", infrav1.UpgradeAborted, cancelled),
	Entry("cancelled before the host has begun", infrav1.UpgradeAborted, labelled, cancelled),
	Entry("cancelled too late", infrav1.UpgradePhase(""), labelled, reported(infrav1.HostUpgradeApplying), cancelled),
	Entry("cancelled when all is well", infrav1.UpgradePhase(""), reported(infrav1.HostUpgradeSucceeded), cancelled),
	Entry("cancelled when the node has not been found good in time", infrav1.UpgradeAborted,
		reported(infrav1.HostUpgradeSucceeded), assessedForTooLong, cancelled),
	Entry("superseded when the node has not been found good in time", infrav1.UpgradeSuperseded,
		reported(infrav1.HostUpgradeSucceeded), assessedForTooLong, otherHash),
	Entry("cancelled while the host itself takes long to assess", infrav1.UpgradePhase(""),
		reported(infrav1.HostUpgradeAssessing), assessedForTooLong, cancelled),
	Entry("superseded", infrav1.UpgradeSuperseded, otherHash),
	Entry("superseded before anything was done for what Cluster API has requested", infrav1.UpgradeSuperseded, otherHash, requested("")),
	Entry("on a Machine that Cluster API has begun to update since", infrav1.UpgradeSuperseded, byTemplate, updating),
	Entry("on a Machine that Cluster API has begun to update since, too late", infrav1.UpgradePhase(""), byTemplate, updating, labelled),
	Entry("on a Machine that Cluster API updates by this attempt", infrav1.UpgradePhase(""), updating,
		func(o *observation) { o.upgrade.Spec.Driver = infrav1.DriverClusterAPI }),
	Entry("what nobody wants", infrav1.UpgradeFailed, otherHash, requested("else")),
	Entry("what nobody wants any more, too late", infrav1.UpgradeSuperseded, otherHash, requested("else"), labelled),
	Entry("what only its owner wants by now", infrav1.UpgradePhase(""), requested("else")),
	Entry("superseded too late", infrav1.UpgradePhase(""), reported(infrav1.HostUpgradeRebooting), otherHash),
	Entry("another image than what is wanted, undeclared", infrav1.UpgradeSuperseded, otherImage),
	Entry("another image than what is wanted, undeclared, too late", infrav1.UpgradePhase(""),
		reported(infrav1.HostUpgradeRebooting), otherImage),
	Entry("what is wanted under another image", infrav1.UpgradeFailed, func(o *observation) { o.upgrade.Spec.ImageURI = "oci://other" }),
	Entry("what is wanted under another image, too late", infrav1.UpgradePhase(""), labelled,
		func(o *observation) { o.upgrade.Spec.ImageURI = "oci://other" }),
	Entry("cancelled and superseded", infrav1.UpgradeAborted, cancelled, otherHash),
	Entry("cancelled while a host that runs the image is to be triggered for its recovery system", infrav1.UpgradeAborted,
		runsWanted, withRecovery, entered(stepTrigger), cancelled),
	Entry("cancelled when a host has gone all the way, of which it tells nothing any more", infrav1.UpgradePhase(""),
		runsWanted, withRecovery, entered(stepTrigger, stepReboot), cancelled),
	Entry("the host is gone", infrav1.UpgradeAborted, noHost),
	Entry("the host is being deleted", infrav1.UpgradeAborted, deletedHost),
	Entry("the host is being deleted, too late", infrav1.UpgradePhase(""), labelled, deletedHost),
	Entry("the host is being deleted, and was rebooted since it was triggered", infrav1.UpgradeAborted, rebooted, deletedHost),
	Entry("the host serves nobody", infrav1.UpgradeAborted, func(o *observation) { o.host.Spec.MachineRef = nil }),
	Entry("the host serves another machine", infrav1.UpgradeAborted, func(o *observation) { o.host.Spec.MachineRef.Name = "other" }),
	Entry("the Machine is gone", infrav1.UpgradeAborted, noMachine),
	Entry("the Cluster is gone", infrav1.UpgradeAborted, noCluster),
	Entry("the host failed", infrav1.UpgradeFailed, labelled, reported(infrav1.HostUpgradeFailed)),
	Entry("the host failed and was cancelled", infrav1.UpgradeFailed, reported(infrav1.HostUpgradeFailed), cancelled),
	Entry("the host rolled back and is to go", infrav1.UpgradeRolledBack, reported(infrav1.HostUpgradeRolledBack), noMachine),
	Entry("the host speaks of another attempt", infrav1.UpgradePhase(""), func(o *observation) {
		o.host.Status.Upgrade = &infrav1.HostUpgradeStatus{Attempt: "u/other", Phase: infrav1.HostUpgradeFailed}
	}),
	Entry("the owner wants nothing that is known", infrav1.UpgradePhase(""), func(o *observation) { o.wanted = nil }),
)

var _ = DescribeTable("wantUnknown", func(expected string, changes ...func(*observation)) {
	Expect(typical(changes...).wantUnknown()).To(Equal(expected))
},
	Entry("known", ""),
	Entry("another OS, which supersedes the attempt", "", otherHash),
	Entry("no owner", "there is none", func(o *observation) { o.wanted, o.unknown = nil, "there is none" }),
	Entry("nobody says why", "it is not known which OS the owner of Machine m wants", func(o *observation) { o.wanted = nil }),
	Entry("not to be read", "it cannot be read which OS the owner of Machine m wants: the server is down", func(o *observation) {
		o.wanted, o.unread = nil, errors.New("the server is down")
	}),
)

var _ = DescribeTable("firstStep", func(expected string, changes ...func(*observation)) {
	steps := (&Reconciler{}).steps(infrav1.DriverClusterAPI)
	Expect(steps[firstStep(steps, typical(changes...))].Name).To(Equal(expected))
},
	Entry("a new attempt", stepPreflight),
	Entry("the host prepares", stepPreflight, reported(infrav1.HostUpgradeFetched)),
	Entry("triggered", stepReboot, labelled),
	Entry("triggered in an earlier boot", stepPreflight, rebooted),
	Entry("triggered in an earlier boot, and has fetched the image again", stepPreflight, rebooted, reported(infrav1.HostUpgradeFetched)),
	Entry("triggered for another image", stepPreflight, labelled, func(o *observation) { o.host.Spec.Upgrade.TriggeredFor.Digest = "sha256:older" }),
	Entry("triggered by a manager that names no boot", stepPreflight, triggeredForNone),
	Entry("triggered by a manager that names no boot, and has started", stepReboot, triggeredForNone, reported(infrav1.HostUpgradeApplying)),
	Entry("triggered, started, and in the next boot", stepReboot, rebooted, reported(infrav1.HostUpgradeAssessing)),
	Entry("triggered, and not heard of since it was moved", stepReboot, labelled, func(o *observation) { o.host.Status.OS = infrav1.HostOS{} }),
	Entry("the host is at it", stepReboot, reported(infrav1.HostUpgradeApplying)),
	Entry("the host is through", stepReboot, reported(infrav1.HostUpgradeSucceeded)),
	Entry("somebody else's trigger", stepPreflight, labelled, func(o *observation) { o.host.Spec.Upgrade.Attempt = "manual-1" }),
	Entry("the image runs already", stepAssess, runsWanted),
	Entry("the image runs already, and the recovery system is wanted, too", stepPreflight, runsWanted, withRecovery),
	Entry("the image and the recovery system were written, and the host tells nothing of it any more", stepAssess, runsWanted, withRecovery, entered(stepTrigger, stepReboot)),
	Entry("the image runs already, and the trigger of the recovery system is waited for, or was taken back", stepPreflight, runsWanted, withRecovery, entered(stepTrigger)),
	Entry("another attempt has just booted the image", stepPreflight, runsWanted, func(o *observation) {
		o.rival = &infrav1.ElementalHostUpgrade{}
	}),
)

func runsWanted(o *observation) {
	o.upgrade.Status.Digest = "sha256:new"
	o.host.Status.OS.Digest, o.host.Status.OS.ImageURI = "sha256:new", "oci://new"
	o.upgrade.Spec.OSVersionManagement = osversion.OfImage("new")
}

// entered is an attempt that has stopped at steps.
func entered(steps ...string) func(*observation) {
	return func(o *observation) {
		for _, name := range steps {
			enter(&o.upgrade.Status, name, noon)
		}
	}
}

func withRecovery(o *observation) {
	o.upgrade.Spec.OSVersionManagement = infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ImageURI: "new", UpgradeRecovery: ptr.To(true)}}
}

var _ = DescribeTable("lost", func(expected bool, waited time.Duration, changes ...func(*observation)) {
	o := typical(changes...)
	o.upgrade.Status.Steps = append(o.upgrade.Status.Steps, infrav1.UpgradeStepStatus{Name: stepReboot, StartTime: metav1.NewTime(noon.Add(-waited))})
	Expect(o.lost()).To(Equal(expected))
},
	Entry("just triggered", false, time.Duration(0), labelled),
	Entry("shortly before the time-out", false, 30*time.Minute-time.Second, labelled),
	Entry("at the time-out", true, 30*time.Minute, labelled),
	Entry("late, and still rebooting", true, time.Hour, reported(infrav1.HostUpgradeRebooting)),
	Entry("late, but back", false, time.Hour, reported(infrav1.HostUpgradeAssessing)),
	Entry("back, and about to go back to its former OS", false, 2*time.Hour, reported(infrav1.HostUpgradeAssessing), assessing(45*time.Minute-time.Second)),
	Entry("back, and not heard of since", true, 2*time.Hour, reported(infrav1.HostUpgradeAssessing), assessing(45*time.Minute)),
	Entry("back and good, with a node that is not", false, 2*time.Hour, reported(infrav1.HostUpgradeSucceeded), assessing(time.Hour)),
	Entry("late, and in the boot from before", true, time.Hour, reported(infrav1.HostUpgradeAssessing), func(o *observation) {
		o.host.Status.OS.BootID = "boot-1"
	}),
	Entry("late, but rolled back", false, time.Hour, reported(infrav1.HostUpgradeRolledBack)),
)

var _ = DescribeTable("keptOff", func(step, expected string, changes ...func(*observation)) {
	o := typical(append(changes, func(o *observation) {
		o.upgrade.Status.VirtualMachines = []infrav1.VirtualMachineStatus{
			{Namespace: "shop", Name: "db", Decision: infrav1.VMShutdownAndRestore}, {Namespace: "shop", Name: "web", Decision: infrav1.VMMigrate},
		}
	})...)
	Expect(o.keptOff(step)).To(Equal(expected))
},
	Entry("held back by a check after the evacuation", stepPreflight,
		"; virtual machines that were shut down for it stay off: shop/db (spec.cancel starts them again)"),
	Entry("on its way", stepDrain, ""),
	Entry("where nothing can be held back", stepPreflight, "", labelled),
)

var _ = DescribeTable("kindOf", func(outcome infrav1.UpgradePhase, warnings, expected string) {
	Expect(kindOf(outcome, warnings)).To(Equal(expected))
},
	Entry(nil, infrav1.UpgradeSucceeded, "", "Normal"),
	Entry("with something to look after", infrav1.UpgradeSucceeded, "warning: x", "Warning"),
	Entry("the way to fix a bad image forward", infrav1.UpgradeSuperseded, "warning: x", "Normal"),
	Entry("asked for by a person", infrav1.UpgradeAborted, "", "Normal"),
	Entry(nil, infrav1.UpgradeRolledBack, "", "Warning"),
	Entry(nil, infrav1.UpgradeFailed, "", "Warning"),
	Entry(nil, infrav1.UpgradeHostLost, "", "Warning"),
)

var _ = DescribeTable("warnings", func(phase infrav1.HostUpgradePhase, message, expected string) {
	o := typical(reported(phase), func(o *observation) { o.host.Status.Upgrade.Message = message })
	Expect(o.warnings()).To(Equal(expected))
},
	Entry("of a stage that failed", infrav1.HostUpgradeSucceeded, "warning: cloud-init stage x failed: y", "warning: cloud-init stage x failed: y"),
	Entry("none", infrav1.HostUpgradeSucceeded, "", ""),
	Entry("what is no warning", infrav1.HostUpgradeSucceeded, "the host already runs this OS", ""),
	Entry("what explains another end", infrav1.HostUpgradeRolledBack, "warning: x", ""),
)

var _ = DescribeTable("rebootMessage", func(phase infrav1.HostUpgradePhase, expected string) {
	Expect(rebootMessage(typical(), phase)).To(Equal(expected))
},
	Entry("not begun", infrav1.HostUpgradeFetched, "waiting for the elemental-agent of ElementalHost h to start"),
	Entry("writing", infrav1.HostUpgradeApplying, "ElementalHost h is writing oci://new"),
	Entry("rebooting", infrav1.HostUpgradeRebooting, "ElementalHost h is rebooting"),
)

var _ = DescribeTable("assessHost", func(expected string, changes ...func(*observation)) {
	o := typical(func(o *observation) { o.upgrade.Status.Digest, o.host.Status.OS.Digest = "sha256:new", "sha256:new" })
	for _, change := range changes {
		change(o)
	}
	Expect(assessHost(o)).To(Equal(expected))
},
	Entry("good", "", reported(infrav1.HostUpgradeSucceeded)),
	Entry("assessing", "ElementalHost h is assessing its boot", reported(infrav1.HostUpgradeAssessing)),
	Entry("another image", "ElementalHost h reports image sha256:x instead of sha256:new", func(o *observation) { o.host.Status.OS.Digest = "sha256:x" }),
)

var _ = DescribeTable("assessNode", func(expected string, changes ...func(*observation)) {
	Expect(assessNode(typical(changes...))).To(Equal(expected))
},
	Entry("good", ""),
	Entry("still the Node of the former boot", "waiting for the kubelet of Node n to report the new boot",
		func(o *observation) { o.node.Status.NodeInfo.BootID = "boot-1" }),
	Entry("not Ready", "waiting for Node n to be Ready", notReady),
	Entry("another kubelet", "Node n runs kubelet v1.35.0 and Machine m wants v1.36.3: use an image with that kubelet", oldKubelet),
	Entry("any kubelet will do", "", oldKubelet, func(o *observation) { o.machine.Spec.Version = "" }),
)

var _ = DescribeTable("operated", func(change func(*corev1.Node), expected bool) {
	before := &corev1.Node{}
	after := before.DeepCopy()
	change(after)
	Expect(operated().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(expected))
	Expect(operated().Create(event.CreateEvent{Object: after})).To(BeFalse(), "a cluster of many Nodes is connected")
},
	Entry("a pause", func(node *corev1.Node) { node.Annotations = map[string]string{infrav1.NodeUpgradePauseAnnotation: ""} }, true),
	Entry("a cordon", func(node *corev1.Node) { node.Spec.Unschedulable = true }, true),
	Entry("a heartbeat", func(node *corev1.Node) { node.Status.Phase = corev1.NodeRunning }, false),
	Entry("another annotation", func(node *corev1.Node) { node.Annotations = map[string]string{"a": "b"} }, false),
)

var _ = DescribeTable("An Event of a step", func(step string, told bool, changes ...func(*infrav1.ElementalHostUpgradeStatus)) {
	recorder := events.NewFakeRecorder(1)
	o := typical()
	for _, change := range changes {
		change(&o.upgrade.Status)
	}
	(&Reconciler{Recorder: recorder}).announce(context.Background(), o, sequence.Report{
		Step: step, Index: 1, Total: 14, Result: await(0, blockers(o.upgrade.Status.Preflight)...),
	}, "waiting")
	Expect(recorder.Events).To(HaveLen(map[bool]int{true: 1}[told]))
},
	Entry("tells of one at which few attempts wait", stepDrain, true),
	Entry("tells of a pause", stepApprove, true),
	Entry("does not tell of one at which all of them wait", stepReboot, false),
	Entry("tells of that, too, if a check blocks", stepPreflight, true, blockedBy("NodeReady")),
	Entry("is not repeated", stepDrain, false, func(status *infrav1.ElementalHostUpgradeStatus) { status.Step = stepDrain }),
)

var _ = DescribeTable("An end cancels the evacuation of its node", func(expected bool, changes ...func(*observation)) {
	Expect(typical(changes...).evacuates()).To(Equal(expected))
},
	Entry("not before there was one", false),
	Entry("that may have begun: the node is cordoned", true, cordonedByUs),
	Entry("that has begun", true, evacuated(nil)),
	Entry("that is over, while the node is cordoned", true, evacuated(&metav1.Time{Time: noon}), cordonedByUs),
	Entry("not again once the node is released: it is evacuated for others", false, evacuated(&metav1.Time{Time: noon})),
	Entry("not that of another attempt", false, evacuated(nil), func(o *observation) { o.rival = &infrav1.ElementalHostUpgrade{} }),
)

func cordonedByUs(o *observation) {
	o.node.Spec.Unschedulable = true
	o.node.Annotations = map[string]string{infrav1.CordonedByAnnotation: o.attempt}
}

// evacuated has step EvacuateVMs begun, and ended if there is a time.
func evacuated(ended *metav1.Time) func(*observation) {
	return func(o *observation) {
		o.upgrade.Status.Steps = []infrav1.UpgradeStepStatus{{Name: stepEvacuateVMs, StartTime: metav1.Time{Time: noon}, CompletionTime: ended}}
	}
}
