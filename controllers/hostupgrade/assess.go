// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"time"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// assess waits until the host has found its boot good, and then until the node is as good as it was.
func (r *Reconciler) assess(ctx context.Context, o *observation) (sequence.Result, error) {
	late, since := o.overdue(stepAssess, o.options.Timeouts.Assessment()), r.readinessSince(o)
	if waitFor := assessHost(o); waitFor != "" {
		return sequence.Wait(pollHost, "%s%s", waitFor, late), nil
	}
	if o.labelled() {
		return sequence.Wait(pollCluster, "%s", outcomeMessage(o, late)), nil
	}
	if waitFor := assessNode(o); waitFor != "" {
		return r.awaitNode(ctx, o, since, waitFor+late)
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
// host has died meanwhile: its Machine is left to its health checks. A node that answers, and is not good, waits for a person.
func (r *Reconciler) awaitNode(ctx context.Context, o *observation, since time.Time, waitFor string) (sequence.Result, error) {
	timeout := o.options.Timeouts.Reboot()
	if !workload.IsUnreachable(o.node) || o.now.Sub(since) < timeout {
		return sequence.Wait(pollCluster, "%s", waitFor), nil
	}
	return sequence.Wait(pollCluster, "%s; its kubelet has not answered for %s: look at the console of ElementalHost %s, or delete Machine %s",
		waitFor, timeout, o.host.Name, o.upgrade.Spec.MachineName), r.allowRemediation(ctx, o)
}

// readinessOf is the key of what was observed of the Node of an attempt.
type readinessOf struct{ attempt, node string }

// readinessSince is since when this controller has found the Node Ready, or not, as it is now. Each pass of a step that waits for it looks
// at it, so that it counts from the first pass after the boot, and again after a restart of the controller.
func (r *Reconciler) readinessSince(o *observation) time.Time {
	return r.observed.Look(readinessOf{o.attempt, o.node.Name}, workload.ReadinessOf(o.node), o.now).Since
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
