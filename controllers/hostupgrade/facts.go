// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// nodeName is the Node of the Machine; the last known one when the Machine is gone.
func (o *observation) nodeName() string {
	if o.machine != nil && o.machine.Status.NodeRef.IsDefined() {
		return o.machine.Status.NodeRef.Name
	}
	if o.upgrade.Status.NodeName != "" {
		return o.upgrade.Status.NodeName
	}
	return o.upgrade.Spec.HostName
}

// hostReport is what the host says about this attempt; zero if it speaks of another or of none.
func (o *observation) hostReport() infrav1.HostUpgradeStatus {
	if o.host == nil || o.host.Status.Upgrade == nil || o.host.Status.Upgrade.Attempt != o.attempt {
		return infrav1.HostUpgradeStatus{}
	}
	return *o.host.Status.Upgrade
}

// asked reports whether the host is asked to take part in the attempt.
func (o *observation) asked() bool {
	return o.host != nil && o.host.Spec.Upgrade != nil && o.host.Spec.Upgrade.Attempt == o.attempt
}

// underway reports whether the host has begun what cannot be undone and is not yet through with it.
func (o *observation) underway() bool {
	return slices.Contains([]infrav1.HostUpgradePhase{
		infrav1.HostUpgradeApplying, infrav1.HostUpgradeRebooting, infrav1.HostUpgradeAssessing,
	}, o.hostReport().Phase)
}

// committed reports whether the attempt has to be brought to its end on the host's side.
func (o *observation) committed() bool {
	return o.underway() || o.hostReport().Phase == infrav1.HostUpgradeSucceeded
}

// mustFinish reports whether the attempt cannot be broken off: the host is in the middle of it, or through
// with it and the node is being assessed. A node that is not found good within the time-out does not
// hold its Machine, its slot and its owner's next image for ever.
func (o *observation) mustFinish() bool {
	return o.committed() && (o.underway() || !o.isLateToAssess())
}

func (o *observation) isLateToAssess() bool {
	return o.overdue(stepAssess, o.options.Timeouts.Assessment()) != ""
}

// triggered reports whether the host has been told to go, in the boot that it is in, or has gone.
func (o *observation) triggered() bool {
	return o.committed() || o.hostReport().Phase == infrav1.HostUpgradeRolledBack || o.labelled() && !o.isVoid()
}

// isVoid reports whether the trigger is for another boot than the one that the host is in, where it has not started: it was rebooted
// meanwhile, or the management cluster was restored from a backup. Its node is not known to be drained.
func (o *observation) isVoid() bool {
	return o.labelled() && !o.hasStarted() && o.host.Status.OS.BootID != "" && !hoststate.Triggered(o.host)
}

// isReopened reports whether the node of a host that was triggered, and is not known to have started, accepts Pods again, as where a backup was
// restored in the same boot in which the attempt had ended. A node that is cordoned is drained, whoever has cordoned it. A host that is lost is
// left to what ends that.
func (o *observation) isReopened() bool {
	return o.labelled() && !o.hasStarted() && !o.lost() && o.node != nil && !o.node.Spec.Unschedulable && !workload.IsMarked(o.node, o.attempt)
}

// hasStarted reports whether the host has begun what it was triggered for.
func (o *observation) hasStarted() bool { return o.underway() || isHostEnd(o.hostReport().Phase) }

// labelled reports whether the host carries this attempt and the trigger.
func (o *observation) labelled() bool {
	return o.asked() &&
		o.host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending
}

// warnings are what the host tells of an upgrade that has succeeded all the same, and what was not healthy before either; empty where there is
// nothing to look after.
func (o *observation) warnings() string {
	found := []string{}
	if report := o.hostReport(); report.Phase == infrav1.HostUpgradeSucceeded && strings.HasPrefix(report.Message, wire.WarningPrefix) {
		found = append(found, report.Message)
	}
	if unhealthy := o.stillUnhealthy(); unhealthy != "" {
		found = append(found, unhealthy)
	}
	return strings.Join(found, "; ")
}

// returned reports whether the host has come back from the reboot, whatever it booted, or went through no
// reboot because it ran the image already.
func (o *observation) returned() bool {
	report := o.hostReport()
	if report.Phase != infrav1.HostUpgradeAssessing && report.Phase != infrav1.HostUpgradeSucceeded {
		return isHostEnd(report.Phase)
	}
	return o.host.Status.OS.BootID != "" && o.host.Status.OS.BootID != report.FromBootID
}

// hearing is how long all hosts have to report once there is an Elemental API again: two of the longest waits of agents for one.
const hearing = 2 * time.Minute

// lost reports whether the host has been waited for as long as it may take. One that is back and assesses its boot may take
// the time for that, and for the reboot into its former OS that may follow. A manager that has just started has not heard yet of what
// happened before; what was lost until then stays lost.
func (o *observation) lost() bool {
	timeouts := o.options.Timeouts
	switch {
	case o.mayBeUnheard() > 0 && o.upgrade.Status.Phase != infrav1.UpgradeHostLost:
		return false
	case !o.returned():
		return o.now.Sub(o.enteredAt(stepReboot)) >= timeouts.Reboot()
	case o.hostReport().Phase == infrav1.HostUpgradeAssessing:
		return o.now.Sub(o.enteredAt(stepAssess)) >= timeouts.Assessment()+timeouts.Reboot()
	}
	return false
}

// mayBeUnheard is for how long hosts may still not have reported what they did before the manager was started: no longer than a reboot
// may take.
func (o *observation) mayBeUnheard() time.Duration {
	return max(0, min(hearing, o.options.Timeouts.Reboot())-o.now.Sub(o.started))
}

// hasNothingToDo reports whether the host runs what the attempt asks for although it has not been told to
// go: it was upgraded by hand, or `clusterctl move` brought along an attempt without its status.
func (o *observation) hasNothingToDo() bool {
	return o.host != nil && o.rival == nil && o.digest() != "" && o.host.Status.OS.Digest == o.digest() &&
		hoststate.Runs(o.host, o.upgrade.Spec.OSVersionManagement) == hoststate.MatchSame
}

// wentUnheard reports whether a host runs what it was triggered for, and tells nothing of it any more. A trigger that was taken back is none: the
// host may have run the image before, and lack what else the attempt asks for.
func (o *observation) wentUnheard() bool {
	return attempts.HasEntered(o.upgrade, stepReboot) && o.hasNothingToDo()
}

// digest is the one the host was asked for, once it has been told to go, and before that the one that the upgrade of the cluster, or
// the rollout, is pinned to. It is empty until a host has resolved it.
func (o *observation) digest() string {
	if o.triggered() && o.asked() && o.host.Spec.Upgrade.Digest != "" {
		return o.host.Spec.Upgrade.Digest
	}
	if o.clusterDigest != "" {
		return o.clusterDigest
	}
	return cmp.Or(o.pinned(), o.upgrade.Status.Digest)
}

// pinned is the digest that the rollout resolved the attempt's own image to; empty before.
func (o *observation) pinned() string {
	if o.rollout == nil {
		return ""
	}
	return o.rollout.Spec.ImageDigest
}

// superseded reports whether the owner of the Machine wants another OS than this attempt's.
func (o *observation) superseded() bool {
	return o.wanted != nil && o.wanted.OSVersionHash != o.hash()
}

// isTakenOver reports whether Cluster API has marked the Machine of an attempt for a patched template, whose host is not triggered: an extension updates it.
func (o *observation) isTakenOver() bool {
	return o.upgrade.Spec.Driver != infrav1.DriverClusterAPI && !o.triggered() && o.machine != nil && owner.IsUpdating(o.machine)
}

// isOrphan reports whether the record of the rollout of an attempt was deleted, before its node was disrupted. What stops or holds its rollout would not reach it.
func (o *observation) isOrphan() bool {
	return o.upgrade.Spec.Driver != infrav1.DriverClusterAPI && o.upgrade.Spec.RolloutName != "" && o.rollout == nil && !o.triggered() && !o.admitted()
}

// neverWanted reports whether the attempt is for an OS that nobody has asked for, as one that a person has created: neither the
// owner of the Machine nor its ElementalMachine specifies it, and nothing has been done for it. An attempt that was requested is for
// the OS of the ElementalMachine, until it has ended.
func (o *observation) neverWanted() bool {
	return o.superseded() && !o.triggered() && o.requested != nil && *o.requested != o.hash()
}

// hash of the OS that the attempt offers.
func (o *observation) hash() string { return osversion.Hash(o.upgrade.Spec.OSVersionManagement) }

// contradiction says that the attempt declares another image than it offers; empty if it does not. Users go by what it declares.
func (o *observation) contradiction() string {
	spec := o.upgrade.Spec
	if image := osversion.Image(spec.OSVersionManagement); spec.ImageURI != image {
		return fmt.Sprintf("spec.imageURI is %s, and spec.osVersionManagement asks for %s", spec.ImageURI, image)
	}
	return ""
}

// wantUnknown says why it is not known that the owner of the Machine wants this attempt's OS; empty while it is. One whose
// owner wants another OS is superseded.
func (o *observation) wantUnknown() string {
	switch {
	case o.unread != nil:
		return fmt.Sprintf("it cannot be read which OS the owner of Machine %s wants: %s", o.upgrade.Spec.MachineName, o.unread)
	case o.wanted == nil:
		return cmp.Or(o.unknown, "it is not known which OS the owner of Machine "+o.upgrade.Spec.MachineName+" wants")
	}
	return ""
}

// machineLeaves reports whether the Machine, or its whole Cluster, is being deleted or gone.
func (o *observation) machineLeaves() bool {
	return o.machine == nil || !o.machine.DeletionTimestamp.IsZero() || o.clusterLeaves()
}

// hostLeaves says why the host is not the Machine's to be upgraded any more; empty while it is.
func (o *observation) hostLeaves() string {
	const remedy = ": delete Machine %s to have it replaced"
	switch ref := o.host.Spec.MachineRef; {
	case !o.host.DeletionTimestamp.IsZero():
		return fmt.Sprintf("ElementalHost %s is being deleted"+remedy, o.host.Name, o.upgrade.Spec.MachineName)
	case ref == nil || ref.Name != o.upgrade.Spec.ElementalMachineName:
		return fmt.Sprintf("ElementalHost %s does not serve ElementalMachine %s"+remedy, o.host.Name, o.upgrade.Spec.ElementalMachineName, o.upgrade.Spec.MachineName)
	}
	return ""
}

func (o *observation) clusterLeaves() bool {
	return o.cluster == nil || !o.cluster.DeletionTimestamp.IsZero()
}

func (o *observation) isControlPlane() bool {
	return o.machine != nil && util.IsControlPlaneMachine(o.machine)
}

// isHostEnd reports whether the host is through with an attempt.
func isHostEnd(phase infrav1.HostUpgradePhase) bool { return hoststate.Ended(phase) }

// isEnded reports whether a phase is an end that the attempt does not come back from by itself.
func isEnded(phase infrav1.UpgradePhase) bool { return phase.IsEnd() }

// What helps at steps that wait for what others have to let go, where the message does not say of one thing what clears it.
const (
	helpsEvacuation = "migrate or stop what is left, or set its label " + infrav1.VMPolicyLabel
	helpsDrain      = "scale up what is named, relax its PodDisruptionBudget, or delete its Pods"
	helpsVolumes    = "see kubectl describe volumeattachments, the CSI driver, and Longhorn's volumes"
)

// late is overdue for a step that may wait for what never comes: it says what helps, and how a user ends the wait.
func (o *observation) late(step string, timeout time.Duration, helps string) string {
	late := o.overdue(step, timeout)
	if late == "" {
		return ""
	}
	return late + fmt.Sprintf(": %s, or end the wait with kubectl --namespace %s patch ehu %s --type merge --patch '{\"spec\":{\"cancel\":true}}'",
		helps, o.upgrade.Namespace, o.upgrade.Name)
}

// settles reports whether nothing but the storage of a node that runs the OS and serves again is waited for. A cancel ends that wait, once it has taken its
// time, and undoes nothing.
func (o *observation) settles() bool {
	return o.upgrade.Status.Step == stepSettle && o.hostReport().Phase == infrav1.HostUpgradeSucceeded
}
