// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// Names of the stages that are not those of pools.
const (
	stagePreflight = clusterupgrade.StagePreflight
	stagePrefetch  = clusterupgrade.StagePrefetch
	stageCleanup   = "Cleanup"
)

// pausedText says that the upgrade is paused.
const pausedText = "paused: set spec.paused to false to go on"

type step = sequence.Step[*observation]

// observation is all that one reconcile decides on.
type observation struct {
	now       time.Time
	upgrade   *infrav1.ElementalClusterUpgrade
	cluster   *clusterv1.Cluster
	elemental *infrav1.ElementalCluster
	plan      *clusterupgrade.Plan
	// fetch is how far the hosts are with the image, where stage Prefetch was not done before.
	fetch clusterupgrade.Fetch
	// outdated says which virtual machines stay on former launchers, where stage Workloads was not done before.
	outdated string
}

// advance runs the stages.
func (r *Reconciler) advance(ctx context.Context, o *observation) (ctrl.Result, error) {
	upgrade := o.upgrade
	if isNew, err := r.recordDigest(ctx, o); err != nil || isNew { // it is stored before another template is changed
		return ctrl.Result{RequeueAfter: soon}, err
	}
	report, err := sequence.Run(ctx, r.steps(o), 0, o)
	if err != nil { // nothing is known of the stages after the one that failed
		r.reportError(upgrade, err)
		return ctrl.Result{}, err
	}
	o.recordStages(report)
	if report.Completed() {
		nodes, _ := o.plan.Targets()
		r.end(upgrade, infrav1.ClusterUpgradeSucceeded, fmt.Sprintf("%d nodes run %s", nodes, clusterupgrade.Image(upgrade)))
		return ctrl.Result{}, nil
	}
	phase, message := infrav1.ClusterUpgradeProgressing, report.Result.Message
	if len(o.plan.Failed()) > 0 {
		phase = infrav1.ClusterUpgradeFailed
		if upgrade.Status.Phase != phase {
			r.Recorder.Eventf(upgrade, nil, corev1.EventTypeWarning, infrav1.EventClusterUpgradeFailed, "Upgrade", "%s", condition.Message(message))
		}
		unrestored, restoreErr := r.restoreWorkloads(ctx, o)
		if err = restoreErr; unrestored != "" {
			message += "; " + unrestored
		}
	}
	r.report(upgrade, phase, fmt.Sprintf("%s (%d/%d)", report.Step, report.Index, report.Total), message)
	return ctrl.Result{RequeueAfter: report.Result.After}, err
}

// reportError says why a stage does not go on. It is tried again, and nothing of what is known of the upgrade changes. A conflict is over by then.
func (r *Reconciler) reportError(upgrade *infrav1.ElementalClusterUpgrade, err error) {
	if apierrors.IsConflict(err) {
		return
	}
	phase := upgrade.Status.Phase
	if phase == "" || phase == infrav1.ClusterUpgradePending {
		phase = infrav1.ClusterUpgradeProgressing
	}
	r.report(upgrade, phase, upgrade.Status.Stage, "it is tried again: "+err.Error())
}

// observe reads the Cluster, and looks up the image. It says why nothing can be planned.
func (r *Reconciler) observe(ctx context.Context, cluster *clusterv1.Cluster, upgrade *infrav1.ElementalClusterUpgrade) (*observation, string, error) {
	o := &observation{now: r.Clock.Now(), upgrade: upgrade, cluster: cluster}
	ref := cluster.Spec.InfrastructureRef
	if !association.NamesElementalCluster(ref) {
		return o, fmt.Sprintf("Cluster %s has no ElementalCluster: its nodes are not upgraded by this provider", cluster.Name), nil
	}
	var err error
	if o.elemental, err = existing.Get(ctx, r.Client, &infrav1.ElementalCluster{}, cluster.Namespace, ref.Name); err != nil {
		return o, "", err
	}
	if o.elemental == nil {
		return o, fmt.Sprintf("ElementalCluster %s of Cluster %s does not exist", ref.Name, cluster.Name), nil
	}
	if why, err := r.lookUp(ctx, upgrade); err != nil || why != "" {
		return o, why, err
	}
	o.plan, err = clusterupgrade.Read(ctx, r.Client, upgrade, o.elemental.Status.UpgradeSlots)
	return o, "", err
}

// lookUp pins the upgrade to the image of its ManagedOSVersion, once: no two pools may get different images for one name.
func (r *Reconciler) lookUp(ctx context.Context, upgrade *infrav1.ElementalClusterUpgrade) (why string, err error) {
	if clusterupgrade.Image(upgrade) == "" {
		pin, problem, err := managedos.Resolver{Live: r.APIReader}.LookUp(ctx, upgrade.Namespace, upgrade.Spec.OSVersion.ManagedOSVersionName)
		if err != nil || problem != nil {
			if problem != nil {
				why = problem.Message
			}
			return why, err
		}
		value, err := json.Marshal(pin)
		if err != nil {
			return "", fmt.Errorf("encoding what ManagedOSVersion %s was looked up to: %w", pin.Name, err)
		}
		annotations.AddAnnotations(upgrade, map[string]string{infrav1.ResolvedOSVersionAnnotation: string(value)})
		return "looking up ManagedOSVersion " + pin.Name, nil // it is stored before anything is changed
	}
	upgrade.Status.ImageURI, upgrade.Status.Digest = clusterupgrade.Image(upgrade), clusterupgrade.Digest(upgrade)
	return "", nil
}

// steps are the stages of an upgrade, in their order.
func (r *Reconciler) steps(o *observation) []step {
	all := r.named(o.plan.Before())
	for i, stage := range o.plan.Stages {
		all = append(all, step{Name: stage.Name, Run: func(ctx context.Context, o *observation) (sequence.Result, error) {
			return r.upgradePools(ctx, o, i)
		}})
	}
	return append(append(all, r.named(o.plan.After())...), step{Name: stageCleanup, Run: r.cleanUp})
}

// named are the stages of some names.
func (r *Reconciler) named(names []string) []step {
	of := map[string]func(context.Context, *observation) (sequence.Result, error){
		stagePreflight: r.preflight, stagePrefetch: r.prefetch,
		clusterupgrade.StageKubeVirt: r.upgradeKubeVirt, clusterupgrade.StageWorkloads: r.updateWorkloads,
	}
	steps := []step{}
	for _, name := range names {
		steps = append(steps, step{Name: name, Run: of[name]})
	}
	return steps
}

// preflight holds the upgrade while it could not be carried out as it is, before anything is changed.
func (r *Reconciler) preflight(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.plan.HasCompleted(stagePreflight) {
		return sequence.Done(), nil
	}
	if why := o.unplannable(); why != "" {
		return sequence.Wait(retry, "%s", why), nil
	}
	if why, err := r.sharedWithOthers(ctx, o, o.templates()); err != nil || why != "" {
		return sequence.Wait(retry, "%s", why), err
	}
	if why, err := r.kubeVirtImpossible(ctx, o); err != nil || why != "" {
		return sequence.Wait(retry, "%s", why), err
	}
	for _, template := range o.templates() {
		if why, err := r.tryTemplate(ctx, o, template); err != nil || why != "" {
			return sequence.Wait(retry, "%s", why), err
		}
	}
	return sequence.Done(), nil
}

// unplannable says what is wrong with the order, or with a pool; empty if nothing is.
func (o *observation) unplannable() string {
	pools := o.plan.PoolNames()
	if len(pools) == 0 {
		return fmt.Sprintf("Cluster %s has no Machines of this provider", o.cluster.Name)
	}
	if unknown := o.plan.Unknown(); len(unknown) > 0 {
		return fmt.Sprintf("spec.order names %s, and Cluster %s has Machines in the pools %s: set spec.cancel, and create another ElementalClusterUpgrade",
			strings.Join(unknown, ", "), o.cluster.Name, strings.Join(pools, ", "))
	}
	if against := o.plan.AgainstRancher(); against != "" {
		return against + ". Set spec.cancel, and create another ElementalClusterUpgrade"
	}
	for _, member := range o.plan.Members() {
		if clusterupgrade.IsMistakenForControlPlane(member.Machine) {
			return fmt.Sprintf("Machine %s is of a MachineDeployment called %s, which spec.order cannot tell from the control plane: "+
				"set spec.cancel, and change the ElementalMachineTemplates yourself", member.Machine.Name, clusterupgrade.ControlPlanePool)
		}
		if member.Template == nil {
			return clusterupgrade.UnknownTemplate(member)
		}
	}
	return ""
}

// upgradePools of a stage: its nodes are waited for. Its templates were changed before, but for those of a topology, since Cluster API starts the updates of
// Machines itself, and for what was added since.
func (r *Reconciler) upgradePools(ctx context.Context, o *observation, index int) (sequence.Result, error) {
	stage := o.plan.Stages[index]
	if o.plan.Current(o.now) > index {
		return sequence.Done(), nil
	}
	if result, err := r.heldStage(ctx, o, stage); err != nil || !result.IsDone() {
		return result, err
	}
	for _, template := range templatesOf(stage) {
		if why, err := r.changeTemplate(ctx, o, template); err != nil || why != "" {
			return sequence.Wait(waitFor(why), "%s", why), err
		}
	}
	return sequence.Wait(retry, "%s", cmp.Or(o.plan.Message(o.now), stage.Unrequested())), nil
}

// heldStage waits where no node of a stage may start.
func (r *Reconciler) heldStage(ctx context.Context, o *observation, stage clusterupgrade.Stage) (sequence.Result, error) {
	switch {
	case stage.IsDone() && o.upgrade.Spec.Paused:
		return sequence.Wait(o.untilSoaked(), "%s; then it is %s", o.plan.Message(o.now), pausedText), nil
	case stage.IsDone():
		return sequence.Wait(o.untilSoaked(), "%s", o.plan.Message(o.now)), nil
	case o.upgrade.Spec.Paused:
		return sequence.Wait(retry, "%s%s", pausedText, o.inWork()), nil
	case len(o.plan.Failed()) > 0:
		return sequence.Wait(retry, "%s", o.plan.Message(o.now)), nil
	case len(stage.Unknown) > 0:
		return sequence.Wait(retry, "pool %s has no Machines: scale it up, or set spec.cancel", strings.Join(stage.Unknown, ", ")), nil
	}
	if outside := o.plan.Outside(o.now); outside != "" {
		return sequence.Wait(o.untilWindow(), "%s%s", outside, o.inWork()), nil
	}
	if closed, err := r.closedGate(ctx, o); err != nil || closed != "" {
		return sequence.Wait(gateRetry, "%s%s", closed, o.inWork()), err
	}
	return sequence.Done(), nil
}

// untilSoaked is how long to wait for the end of a soak.
func (o *observation) untilSoaked() time.Duration {
	if ends := o.plan.SoakEnds(o.now); !ends.IsZero() {
		return ends.Sub(o.now)
	}
	return retry
}

// untilWindow is how long to wait for a window. It is looked at again before, as spec.windows may change the time of a node.
func (o *observation) untilWindow() time.Duration {
	if next := o.plan.NextWindow(o.now); !next.IsZero() {
		return min(retry, next.Sub(o.now))
	}
	return retry
}

// inWork names the nodes that are finished in spite of a pause.
func (o *observation) inWork() string {
	names := []string{}
	for _, member := range o.plan.InWork() {
		names = append(names, member.Node())
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; being finished: " + clusterupgrade.Named(names)
}

// cleanUp releases what a former upgrade to the same OS holds, once the gates are open after the last node.
func (r *Reconciler) cleanUp(ctx context.Context, o *observation) (sequence.Result, error) {
	if closed, err := r.closedGate(ctx, o); err != nil || closed != "" {
		return sequence.Wait(gateRetry, "%s", closed), err
	}
	if err := r.release(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	return sequence.Done(), nil
}

// tellEnd says in the status that an upgrade has ended, where that was recorded and not said: the manager was killed between the two, or the upgrade
// was moved here without its status.
func (r *Reconciler) tellEnd(upgrade *infrav1.ElementalClusterUpgrade) {
	if ended := upgrade.PhaseNow(); upgrade.Status.Phase != ended || conditions.Get(upgrade, infrav1.UpgradeSucceededCondition) == nil {
		r.report(upgrade, ended, "", "ended as "+string(ended))
	}
}

// end records an end, once and for all.
func (r *Reconciler) end(upgrade *infrav1.ElementalClusterUpgrade, phase infrav1.ClusterUpgradePhase, message string) {
	annotations.AddAnnotations(upgrade, map[string]string{infrav1.EndedAnnotation: string(phase)})
	finished := metav1Now(r.Clock)
	upgrade.Status.CompletionTime, upgrade.Status.EstimatedCompletionTime, upgrade.Status.NextWindow = &finished, nil, nil
	r.report(upgrade, phase, "", message)
	eventType := corev1.EventTypeNormal
	if phase != infrav1.ClusterUpgradeSucceeded {
		eventType = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(upgrade, nil, eventType, infrav1.EventClusterUpgradeEnded, "Upgrade", "%s: %s", phase, message)
}
