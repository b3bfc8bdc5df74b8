// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// reboot waits for the host to write the image and to come back from a new boot.
func (r *Reconciler) reboot(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.returned() && !o.lost() {
		return sequence.Done(), nil
	}
	if o.host.Spec.Upgrade == nil || o.underway() && !o.labelled() {
		// The host began just before the attempt, or its trigger, was taken back. It is asked again, so that it does not forget
		// the attempt before its end is recorded, and is not moved; it never carries out an attempt twice.
		if err := r.ask(ctx, o); err != nil {
			return sequence.Result{}, err
		}
	}
	if o.lost() {
		return sequence.End(string(infrav1.UpgradeHostLost), "%s: look at its console; its slot is kept until it returns, "+
			"its Machine is deleted, or spec.release is set%s", o.loss(), o.stoppedVMs()), nil
	}
	if waits, err := r.takeFromHealthChecks(ctx, o); waits || err != nil {
		return sequence.Wait(soon, ""), err
	}
	left := max(o.options.Timeouts.Reboot()-o.now.Sub(o.enteredAt(stepReboot)), o.mayBeUnheard())
	return sequence.Wait(min(left, pollHost), "%s%s", rebootMessage(o, o.hostReport().Phase), r.withSelf(ctx, o)), nil
}

// loss says what a lost host has failed to do.
func (o *observation) loss() string {
	timeouts := o.options.Timeouts
	if o.returned() {
		return fmt.Sprintf("ElementalHost %s came back, and has not assessed its boot within %s", o.host.Name, timeouts.Assessment()+timeouts.Reboot())
	}
	return fmt.Sprintf("ElementalHost %s has not come back within %s of being triggered", o.host.Name, timeouts.Reboot())
}

func rebootMessage(o *observation, phase infrav1.HostUpgradePhase) string {
	switch phase {
	case infrav1.HostUpgradeApplying:
		return "ElementalHost " + o.host.Name + " is writing " + o.upgrade.Spec.ImageURI
	case infrav1.HostUpgradeRebooting:
		return "ElementalHost " + o.host.Name + " is rebooting"
	default:
		return because("waiting for the elemental-agent of ElementalHost "+o.host.Name+" to start", o.hostReport().Message)
	}
}

// enteredAt is when the step was entered; now, if this is the first time.
func (o *observation) enteredAt(step string) time.Time {
	for i := range o.upgrade.Status.Steps {
		if o.upgrade.Status.Steps[i].Name == step {
			return o.upgrade.Status.Steps[i].StartTime.Time
		}
	}
	return o.now
}

// overdue is the part of a message that says that a step takes longer than it should.
func (o *observation) overdue(step string, timeout time.Duration) string {
	if o.now.Sub(o.enteredAt(step)) <= timeout {
		return ""
	}
	return " (for longer than " + timeout.String() + ")"
}

// assess waits until the host has found its boot good, and then until the node is as good as it was.
func (r *Reconciler) assess(ctx context.Context, o *observation) (sequence.Result, error) {
	late, since := o.overdue(stepAssess, o.options.Timeouts.Assessment()), r.readinessSince(o)
	if waitFor := assessHost(o); waitFor != "" {
		return sequence.Wait(pollHost, "%s%s", waitFor, late), nil
	}
	if result, err := r.revokeAtEnd(ctx, o); err != nil {
		return result, err
	}
	if waitFor := assessNode(o); waitFor != "" {
		return r.awaitNode(ctx, o, since, waitFor+late)
	}
	if waits, err := r.takeFromHealthChecks(ctx, o); waits || err != nil {
		return sequence.Wait(soon, ""), err
	}
	if waitFor, err := r.assessControlPlane(ctx, o); err != nil || waitFor != "" {
		return sequence.Wait(pollCluster, "%s%s", waitFor, late), err
	}
	pods, err := r.unreadyDaemonPods(ctx, o)
	if err != nil {
		return sequence.Result{}, err
	}
	if pods != "" {
		return sequence.Wait(pollPods, "waiting for DaemonSet %s on Node %s to be Ready%s", pods, o.node.Name, late), nil
	}
	if left := r.Soak - o.now.Sub(since); left > 0 {
		return sequence.Wait(left, "Node %s is Ready and is watched for %s", o.node.Name, r.Soak), nil
	}
	return sequence.Done(), nil
}

// awaitNode waits for the node after the boot. Where its kubelet has not answered for as long as a reboot may take, the
// host has died meanwhile: its Machine is left to its health checks. A node that answers, and is not good, waits for a user, and its Machine is taken from them.
func (r *Reconciler) awaitNode(ctx context.Context, o *observation, since time.Time, waitFor string) (sequence.Result, error) {
	timeout := o.options.Timeouts.Reboot()
	if !workload.IsUnreachable(o.node) {
		if waits, err := r.takeFromHealthChecks(ctx, o); waits || err != nil {
			return sequence.Wait(soon, ""), err
		}
		return sequence.Wait(pollCluster, "%s", waitFor), nil
	}
	if o.now.Sub(since) < timeout {
		return sequence.Wait(pollCluster, "%s", waitFor), nil
	}
	o.leaveToHealthChecks()
	return sequence.Wait(pollCluster, "%s; its kubelet has not answered for %s: look at the console of ElementalHost %s, or delete Machine %s",
		waitFor, timeout, o.host.Name, o.upgrade.Spec.MachineName), nil
}

// readinessOf is the key of what was observed of the Node of an attempt.
type readinessOf struct{ attempt, node string }

// readinessSince is since when this controller has found the Node Ready, not Ready, or missing, as it is now. Each pass of a step that waits for it looks
// at it, so that it counts from the first pass after the boot, and again after a restart of the controller.
func (r *Reconciler) readinessSince(o *observation) time.Time {
	is := workload.Readiness{}
	if o.node != nil {
		is = workload.ReadinessOf(o.node)
	}
	return r.observed.Look(readinessOf{o.attempt, o.nodeName()}, is, o.now).Since
}

// assessHost judges by what is booted, never by what the next boot would be.
func assessHost(o *observation) string {
	booted := o.host.Status.OS
	switch {
	case o.hostReport().Phase == infrav1.HostUpgradeAssessing:
		return "ElementalHost " + o.host.Name + " is assessing its boot"
	case o.digest() == "":
		return "it is not known which digest " + o.upgrade.Spec.ImageURI + " was resolved to for ElementalHost " + o.host.Name
	case booted.Digest != o.digest():
		return "ElementalHost " + o.host.Name + " reports image " + booted.Digest + " instead of " + o.digest()
	}
	return ""
}

// assessNode waits for the kubelet of this boot: a Node keeps saying Ready for a while after its host
// has gone down.
func assessNode(o *observation) string {
	info := o.node.Status.NodeInfo
	switch {
	case info.BootID != o.host.Status.OS.BootID:
		return "waiting for the kubelet of Node " + o.node.Name + " to report the new boot"
	case !o.isReadyAsBefore():
		return "waiting for Node " + o.node.Name + " to be Ready"
	case o.machine.Spec.Version != "" && info.KubeletVersion != o.machine.Spec.Version:
		return "Node " + o.node.Name + " runs kubelet " + info.KubeletVersion + " and Machine " + o.machine.Name +
			" wants " + o.machine.Spec.Version + ": use an image with that kubelet"
	}
	return ""
}

// assessControlPlane waits for what KubeadmControlPlane says of the Machine, where it says anything, and then of the
// others: as soon as this Machine is through with its update KubeadmControlPlane looks for the next, and deletes it if
// it is the only unhealthy one.
func (r *Reconciler) assessControlPlane(ctx context.Context, o *observation) (string, error) {
	if !o.isControlPlane() {
		return "", nil
	}
	return capiworkaround.WaitForControlPlane(ctx, r.APIReader, r.Client, o.now, o.machine)
}

// awaitControlPlane keeps a superseded attempt, and so the Machine in the update that Cluster API has started, until KubeadmControlPlane finds all Machines
// healthy: the next it does with an unhealthy one is to delete it. An attempt for a patched template does not wait: the next image
// may be what makes the node healthy.
func (r *Reconciler) awaitControlPlane(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.machineLeaves() || o.upgrade.Spec.Driver != infrav1.DriverClusterAPI {
		return sequence.Done(), nil
	}
	if waitFor, err := r.assessControlPlane(ctx, o); err != nil || waitFor != "" {
		return sequence.Wait(pollCluster, "%s", waitFor), err
	}
	return sequence.Done(), nil
}

// selfReboots is said while it can still be read: with its host this API is gone, and what happens there is seen only afterwards.
const selfReboots = "; this management cluster runs on it and is away while it reboots: the host goes on by itself, and this attempt once both are back"

// withSelf says of the only Node of a cluster what becomes of the management cluster, where that runs on it.
func (r *Reconciler) withSelf(ctx context.Context, o *observation) string {
	if o.workload == nil || o.node == nil || !workload.IsMarked(o.node, o.attempt) {
		return ""
	}
	runsHere, err := o.workload.Runs(ctx, r.Self, o.node.Name)
	switch {
	case err != nil: // it is a part of a message only
		ctrl.LoggerFrom(ctx).V(2).Info("Failed to find out whether this manager runs on the Node", "Node", klog.KRef("", o.node.Name), "reason", err.Error())
		return ""
	case runsHere:
		return selfReboots
	}
	return ""
}
