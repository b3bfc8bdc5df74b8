// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagerules"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

const (
	// agedBefore is how old what is listed in a workload cluster may be for an attempt that has no slot. All attempts of
	// the cluster share it.
	agedBefore = pollCluster
	// agedWhileAdmitted is the same for one that has its slot.
	agedWhileAdmitted = 30 * time.Second
)

// preflight looks at the checks, and then asks the host to take part. It is run again in every reconcile until the host has
// been triggered, but for those in which others keep the attempt from its slot: see queue. What was listed in the workload
// cluster may be a few seconds old here: the reconcile that takes the slot, and the one that triggers the host, run the
// checks once more on what is so then. Before the slot is taken a host fetches its image whatever is wrong with other
// nodes: see leaveToAdmit. A host is neither asked nor triggered but for what the owner of its
// Machine, read live directly before, is known to want, and no host but that of the Machine: whoever can write an attempt
// could choose its OS, or a host that is not drained, otherwise.
func (r *Reconciler) preflight(ctx context.Context, o *observation) (sequence.Result, error) {
	if open, err := r.openChain(ctx, o); err != nil || open != "" {
		return await(pollCluster, o.notRequested(infrav1.HoldBrokenReferences, open)), err
	}
	if err := r.dropForeignTrigger(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	if why := o.wantUnknown(); why != "" {
		return await(pollCluster, o.notRequested(o.unknownReason(), why)), nil
	}
	if err := r.settlePause(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	if err := r.queue(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	if len(o.atAdmit) == 0 { // it may take a slot
		if err := o.requiresLive(); err != nil {
			return sequence.Result{}, err
		}
	}
	if result, err := r.checkAhead(ctx, o); err != nil || !result.IsDone() {
		return result, err
	}
	return r.askToPrepare(ctx, o)
}

// checkAhead runs the checks, unless the attempt is known to wait at Admit, and waits for what concerns its host. With its slot, it waits for all that blocks.
func (r *Reconciler) checkAhead(ctx context.Context, o *observation) (sequence.Result, error) {
	if len(o.atAdmit) > 0 && isQueued(o.upgrade) {
		o.forgetOthers()
		return sequence.Done(), nil
	}
	blocked, err := r.check(ctx, o, preflight.Sources{MaxAge: o.maxAge()})
	if err != nil {
		return sequence.Result{}, err
	}
	if !o.admitted() {
		blocked = o.leaveToAdmit(blocked)
	}
	return await(o.pollBlocked(blocked), blocked...), nil
}

// leaveToAdmit leaves what keeps the attempt from a slot to step Admit, and returns what concerns its host alone. While something else keeps it from a slot, what the checks
// find of other nodes is of no use: it is checked again before it takes one.
func (o *observation) leaveToAdmit(blocked []*hold) (ofHost []*hold) {
	isBehind := len(o.atAdmit) > 0
	for _, held := range blocked {
		switch {
		case preflight.IsOfHost(held.Check):
			ofHost = append(ofHost, held)
		case !isBehind:
			o.atAdmit = append(o.atAdmit, held)
		}
	}
	if isBehind {
		o.forgetOthers()
	}
	return ofHost
}

// forgetOthers removes what checks found of other nodes.
func (o *observation) forgetOthers() {
	o.upgrade.Status.Preflight = slices.DeleteFunc(o.upgrade.Status.Preflight, func(result infrav1.PreflightResult) bool {
		return result.Verdict == infrav1.PreflightBlock && !preflight.IsOfHost(result.Check)
	})
}

// maxAge of what is listed in the workload cluster. While the node of an attempt that has its slot is drained that is only
// there to be reported, unless it was found to block.
func (o *observation) maxAge() time.Duration {
	if o.admitted() && len(preflight.Blockers(o.upgrade.Status.Preflight)) == 0 {
		return agedWhileAdmitted
	}
	return agedBefore
}

// checkNow runs the checks on what is so now, directly before something is done that cannot be taken back.
func (r *Reconciler) checkNow(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.workload == nil || o.node == nil {
		return o.awaitCluster(), nil
	}
	blocked, err := r.check(ctx, o, r.sourcesNow(o))
	return await(o.pollBlocked(blocked), blocked...), err
}

// sourcesNow are for checks of what is so now. Of a control plane it is looked at past all caches, as a second member of etcd that is lost
// takes the cluster with it.
func (r *Reconciler) sourcesNow(o *observation) preflight.Sources {
	if o.isControlPlane() {
		return preflight.Sources{LiveControlPlane: r.APIReader}
	}
	return preflight.Sources{}
}

// check runs the checks, records what they found, and returns what blocks.
func (r *Reconciler) check(ctx context.Context, o *observation, from preflight.Sources) ([]*hold, error) {
	results, err := r.runChecks(ctx, o, from)
	if err != nil {
		return nil, err
	}
	o.upgrade.Status.Preflight = preflight.ByCheck(results)
	return blockers(results), nil
}

// unknownReason is why it is not known which OS is wanted.
func (o *observation) unknownReason() infrav1.HoldReason {
	if o.unread != nil {
		return infrav1.HoldOwnerUnreadable
	}
	return infrav1.HoldDesiredOSUnknown
}

// notRequested is a hold of an attempt that its host is not asked for.
func (o *observation) notRequested(reason infrav1.HoldReason, why string) *hold {
	return infrav1.NewHold(reason, "Machine/"+o.upgrade.Spec.MachineName,
		fmt.Sprintf("no upgrade is requested for ElementalHost %s: %s", o.host.Name, why))
}

// blockers are the holds by checks that block.
func blockers(results []infrav1.PreflightResult) []*hold {
	holds := []*hold{}
	for _, result := range results {
		if result.Verdict != infrav1.PreflightBlock {
			continue
		}
		reason := infrav1.HoldPreflightFailed
		if preflight.HeldByQuarantine([]infrav1.PreflightResult{result}) {
			reason = infrav1.HoldImageQuarantined
		}
		held := infrav1.NewHold(reason, result.Object, preflight.Line(result))
		held.Check = result.Check
		holds = append(holds, held)
	}
	return holds
}

// askToPrepare asks the host to take part, and waits for its answer. What is wanted is read live before the host is asked for something new.
func (r *Reconciler) askToPrepare(ctx context.Context, o *observation) (sequence.Result, error) {
	if !equality.Semantic.DeepEqual(o.host.Spec.Upgrade, o.request()) {
		if held, err := r.notDesired(ctx, o); err != nil || held != nil {
			return await(pollCluster, held), err
		}
	}
	if why, err := r.missingRoot(ctx, o); err != nil || why != "" {
		return await(pollCluster, infrav1.NewHold(infrav1.HoldTrustedRootMissing, "Image/"+o.upgrade.Spec.ImageURI,
			fmt.Sprintf("ElementalHost %s is not asked for image %s: %s", o.host.Name, o.upgrade.Spec.ImageURI, why))), err
	}
	if result, err := r.awaitFetchTurn(ctx, o); err != nil || !result.IsDone() {
		return result, err
	}
	if err := r.offer(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	switch {
	case o.hostReport().Attempt != "":
		return sequence.Done(), nil
	case r.fetches.wasAsked(o):
		return sequence.Wait(answerTime, "%s", o.hostSilent("").Message), nil
	}
	return await(pollHost, o.hostSilent("")), nil
}

// hostSilent is the hold of an attempt whose host has not answered, with what to add to its message.
func (o *observation) hostSilent(more string) *hold {
	return infrav1.NewHold(infrav1.HoldHostNotReporting, "ElementalHost/"+o.host.Name,
		"waiting for the elemental-agent of ElementalHost "+o.host.Name+" to answer"+more)
}

// missingRoot says why no identity could be verified that the image may be signed by; nothing where that is for the host to see.
func (r *Reconciler) missingRoot(ctx context.Context, o *observation) (string, error) {
	if o.cacheOnly { // the host was asked
		return "", nil
	}
	roots := &imagerules.Roots{Live: r.APIReader, Clock: r.Clock}
	return roots.Missing(ctx, o.upgrade.Namespace, imagerules.Governing(o.elementalCluster, o.host), o.upgrade.Spec.ImageURI)
}

// pollBlocked is after how long to look again at what blocks. A bad image can hold a whole cluster for days, until a user acts, which is an event. Of what blocks
// a node without a slot, less often the longer it has.
func (o *observation) pollBlocked(blocked []*hold) time.Duration {
	if slices.ContainsFunc(blocked, func(held *hold) bool { return held.Reason == infrav1.HoldImageQuarantined }) {
		return pollSlots
	}
	former := attempts.FirstHold(o.upgrade)
	if former == nil || former.Reason != infrav1.HoldPreflightFailed || o.admitted() {
		return pollCluster
	}
	return lessOften(o.now.Sub(former.Since.Time), pollCluster, yieldTime)
}

// runChecks returns what is not as it should be.
func (r *Reconciler) runChecks(ctx context.Context, o *observation, from preflight.Sources) ([]infrav1.PreflightResult, error) {
	from.View, from.Workload, from.Now = clusterview.New(r.Client, o.clusterKey()), o.workload, o.now
	from.Cluster, from.ElementalCluster = o.cluster, o.elementalCluster
	snapshot, err := r.snapshots.Read(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("looking at Cluster %s: %w", o.upgrade.Spec.ClusterName, err)
	}
	waivers, err := r.waivers(ctx, o)
	if err != nil {
		return nil, err
	}
	subject := o.subject()
	fixed, err := r.fixed(ctx, o)
	if err != nil {
		return nil, err
	}
	subject.FixesForward = fixed != nil
	if subject.Quarantining, err = r.quarantining(ctx, o, from.MaxAge == 0); err != nil {
		return nil, err
	}
	return preflight.Run(snapshot, subject, waivers, func(result infrav1.PreflightResult) { r.recordWaiver(o, result) }), nil
}

// subject is the node at hand.
func (o *observation) subject() *preflight.Subject {
	return &preflight.Subject{
		Machine: o.machine, Elemental: o.elementalMachine, Host: o.host, Node: o.node,
		Drained: o.drain != nil && o.drain.IsAsked(),
		Attempt: o.attempt, Admitted: o.admitted(), Rival: o.rival, Digest: o.digest(), Report: o.hostReport(),
	}
}

// fixed is the attempt with whose image the Node is not Ready, and which this one replaces; nil if there is none. A kubelet that does not answer would end no
// Pod.
func (r *Reconciler) fixed(ctx context.Context, o *observation) (*infrav1.ElementalHostUpgrade, error) {
	if o.node == nil || workload.IsReady(o.node) || workload.IsUnreachable(o.node) {
		return nil, nil
	}
	known, err := attempts.OnElementalMachine(ctx, r.Client, o.upgrade.Namespace, o.upgrade.Spec.ElementalMachineName)
	others := slices.DeleteFunc(known, func(other infrav1.ElementalHostUpgrade) bool { return other.UID == o.upgrade.UID })
	return attempts.LeftNotReady(others), err
}

// waivers are a person's, for this attempt, for the machine, for all that is rolled out from the template, or for the
// cluster.
func (r *Reconciler) waivers(ctx context.Context, o *observation) (preflight.Waivers, error) {
	carriers := []client.Object{o.upgrade, o.elementalMachine}
	if o.elementalCluster != nil {
		carriers = append(carriers, o.elementalCluster)
	}
	template, err := existing.Get(ctx, r.Client, &infrav1.ElementalMachineTemplate{}, o.upgrade.Namespace, o.upgrade.Spec.TemplateName)
	if template != nil {
		carriers = append(carriers, template)
	}
	return preflight.WaiversOf(carriers...), err
}

// prefetch waits until the host has the image, and pins the rollout to the first digest that a host
// resolved: a tag that moves in the middle must not give two nodes two systems.
func (r *Reconciler) prefetch(ctx context.Context, o *observation) (sequence.Result, error) {
	report := o.hostReport()
	if report.Phase != infrav1.HostUpgradeFetched {
		return o.awaitFetched(o.upgrade.Spec.ImageURI), nil
	}
	r.fetches.release(o)
	if err := r.pin(ctx, o, report.Digest); err != nil {
		return sequence.Result{}, err
	}
	if pinned := o.digest(); report.Digest != pinned {
		// Another host of the rollout was first. The host is asked again, now with the digest.
		return sequence.Wait(pollHost, "ElementalHost %s is fetching %s", o.host.Name, pinned), r.offer(ctx, o)
	}
	return sequence.Done(), nil
}

// pin records the digest, unless another host of the rollout, or of the cluster's upgrade, was first.
func (r *Reconciler) pin(ctx context.Context, o *observation, digest string) error {
	digest = cmp.Or(o.clusterDigest, digest)
	if digest == "" {
		return nil
	}
	if err := r.pinRollout(ctx, o, digest); err != nil {
		return err
	}
	o.upgrade.Status.Digest = cmp.Or(o.digest(), digest)
	return nil
}

func (r *Reconciler) pinRollout(ctx context.Context, o *observation, digest string) error {
	if o.rollout == nil {
		return nil
	}
	if known := o.pinned(); known == digest || known != "" && o.clusterDigest == "" {
		return nil
	}
	if err := o.requiresLive(); err != nil {
		return err
	}
	before := o.rollout.DeepCopy()
	o.rollout.Spec.ImageDigest = digest
	return rollout.Patch(ctx, r.Client, before, o.rollout, "pinning the digest of")
}
