// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// observeDisrupted reports whether an attempt has the machine's Node out of service. A MachineHealthCheck may look at what is reported here. So it turns True with
// reason Upgrading only while the Machine has the attempt's skip-remediation, which is removed after it has turned False. A lost host needs no annotation.
func (r *Reconciler) observeDisrupted(ctx context.Context, s *scope) (after time.Duration, err error) {
	const disrupted = infrav1.DisruptedCondition
	if s.attempts, err = attempts.OnElementalMachine(ctx, r.Client, s.machine.Namespace, s.machine.Name); err != nil {
		return 0, err
	}
	attempt := attempts.Disrupting(s.attempts)
	if attempt == nil {
		if conditions.Has(s.machine, disrupted) {
			condition.False(s.machine, disrupted, infrav1.NotDisruptedReason, "")
		}
		return r.allowRemediation(ctx, s)
	}
	if attempt.PhaseNow() == infrav1.UpgradeHostLost {
		condition.TrueBecause(s.machine, disrupted, infrav1.HostLostReason, "ElementalHost %s is lost: see ElementalHostUpgrade %s", attempt.Spec.HostName, attempt.Name)
		return r.allowRemediation(ctx, s)
	}
	isProtected := conditions.IsTrue(s.machine, disrupted) && conditions.GetReason(s.machine, disrupted) == infrav1.UpgradingReason
	if !isProtected {
		if isProtected, err = r.isProtected(ctx, s.owner, attempts.ID(attempt)); err != nil {
			return 0, err
		}
	}
	switch {
	case !isProtected && conditions.Has(s.machine, disrupted): // the host was lost, and is back
		condition.False(s.machine, disrupted, infrav1.NotDisruptedReason, "")
	case isProtected:
		condition.TrueBecause(s.machine, disrupted, infrav1.UpgradingReason, "%s, for ElementalHostUpgrade %s",
			conditions.GetMessage(attempt, infrav1.UpgradeDisruptingCondition), attempt.Name)
	}
	return 0, nil
}

// isProtected reports whether an attempt keeps health checks from a Machine, by a live read: the annotation that the cache has may be removed by now.
func (r *Reconciler) isProtected(ctx context.Context, machine *clusterv1.Machine, attempt string) (bool, error) {
	if machine == nil || protector(machine) != attempt {
		return false, nil
	}
	now, err := existing.Get(ctx, r.APIReader, &clusterv1.Machine{}, machine.Namespace, machine.Name)
	return now != nil && protector(now) == attempt, err
}

// protector is the attempt that has set skip-remediation on a Machine; empty if none has.
func protector(machine *clusterv1.Machine) string {
	return machine.Annotations[infrav1.SkipRemediationByAnnotation]
}

// allowRemediation removes the skip-remediation of an attempt that has released the Machine, or is gone. Where the host is not lost, it waits until neither the
// ElementalMachine nor the Machine shows the disruption.
func (r *Reconciler) allowRemediation(ctx context.Context, s *scope) (after time.Duration, err error) {
	if s.owner == nil || protector(s.owner) == "" {
		return 0, nil
	}
	attempt := protector(s.owner)
	if released, err := r.isReleased(ctx, s.owner.Namespace, attempt); err != nil || !released {
		return 0, err
	}
	if left := r.awaitsNext(s, attempt); left > 0 {
		return left, nil
	}
	if conditions.GetReason(s.machine, infrav1.DisruptedCondition) != infrav1.HostLostReason {
		if shown, err := r.isShown(ctx, s); err != nil || shown {
			return 0, err
		}
	}
	return 0, r.unmark(ctx, s.owner, attempt)
}

// awaitsNext is for how long the Machine of an attempt, by its id, remains protected, since its Node is not Ready with the image and another content of the
// template is rolled out to it: the attempt for that takes the annotation over. It has as much time as a reboot. Zero if it is not awaited.
func (r *Reconciler) awaitsNext(s *scope, id string) time.Duration {
	former, newest := attempts.LeftNotReady(s.attempts), attempts.Newest(s.attempts)
	isRolledOut := owner.NotedRollout(s.machine) != ""
	isStopped := newest != nil && newest.PhaseNow().IsEnd() && newest.PhaseNow() != infrav1.UpgradeSuperseded
	if former == nil || former.Status.CompletionTime == nil || attempts.ID(former) != id || !owner.IsNodeNotReady(s.owner) || !isRolledOut || isStopped {
		return 0
	}
	return max(0, former.Spec.Options.WithDefaults().Timeouts.Reboot()-r.Clock.Since(former.Status.CompletionTime.Time))
}

// isShown reports whether the stored ElementalMachine, or its Machine, which follows that, shows the disruption.
func (r *Reconciler) isShown(ctx context.Context, s *scope) (bool, error) {
	elemental, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalMachine{}, s.machine.Namespace, s.machine.Name)
	if err != nil || elemental != nil && conditions.IsTrue(elemental, infrav1.DisruptedCondition) {
		return true, err
	}
	machine, err := existing.Get(ctx, r.APIReader, &clusterv1.Machine{}, s.owner.Namespace, s.owner.Name)
	return machine != nil && showsDisruption(machine), err
}

// unmark removes the annotation of an attempt from a Machine.
func (r *Reconciler) unmark(ctx context.Context, of *clusterv1.Machine, attempt string) error {
	machine, err := existing.Get(ctx, r.APIReader, &clusterv1.Machine{}, of.Namespace, of.Name)
	if err != nil || machine == nil || protector(machine) != attempt {
		return err
	}
	before := machine.DeepCopy()
	delete(machine.Annotations, clusterv1.MachineSkipRemediationAnnotation)
	delete(machine.Annotations, infrav1.SkipRemediationByAnnotation)
	if err := r.Client.Patch(ctx, machine, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("leaving Machine %s to its health checks: %w", machine.Name, err)
	}
	return nil
}

// isReleased reports whether an attempt, by its id, has ended, has lost its host, or says that it disrupts nothing any more. One that has said nothing yet may
// have set the annotation a moment ago. What the cache denies needs no live read.
func (r *Reconciler) isReleased(ctx context.Context, namespace, id string) (bool, error) {
	for _, reader := range []client.Reader{r.Client, r.APIReader} {
		attempt, err := existing.Get(ctx, reader, &infrav1.ElementalHostUpgrade{}, namespace, attempts.NameOf(id))
		if err != nil || attempt != nil && attempts.ID(attempt) == id && protects(attempt) {
			return false, err
		}
	}
	return true, nil
}

// protects reports whether an attempt needs the annotation that it has set.
func protects(attempt *infrav1.ElementalHostUpgrade) bool {
	phase := attempt.PhaseNow()
	return !phase.IsEnd() && phase != infrav1.UpgradeHostLost && !conditions.IsFalse(attempt, infrav1.UpgradeDisruptingCondition)
}

// showsDisruption reports whether a Machine shows that its Node is out of service for an attempt. Cluster API copies status and reason of Ready of the
// ElementalMachine. Source: Cluster API 1.14.2, setInfrastructureReadyCondition.
func showsDisruption(machine *clusterv1.Machine) bool {
	switch conditions.GetReason(machine, clusterv1.MachineInfrastructureReadyCondition) {
	case infrav1.UpgradingReason, infrav1.HostLostReason:
		return conditions.IsFalse(machine, clusterv1.MachineInfrastructureReadyCondition)
	}
	return false
}

// disruptingOf is what an attempt says of the disruption of its node; empty if nothing.
func disruptingOf(attempt *infrav1.ElementalHostUpgrade) metav1.ConditionStatus {
	if said := conditions.Get(attempt, infrav1.UpgradeDisruptingCondition); said != nil {
		return said.Status
	}
	return ""
}
