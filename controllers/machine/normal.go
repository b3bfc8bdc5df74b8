// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// reconcileNormal first reports what Cluster API counts by: nothing else that fails keeps it from that.
func (r *Reconciler) reconcileNormal(ctx context.Context, s *scope) (ctrl.Result, error) {
	after, err := r.observeDisrupted(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	result, err := r.serve(ctx, s)
	return util.LowestNonZeroResult(result, ctrl.Result{RequeueAfter: after}), err
}

// serve is the life of a machine, in order. Without a host there is nothing after the first.
func (r *Reconciler) serve(ctx context.Context, s *scope) (ctrl.Result, error) {
	if changed, err := r.followTemplate(ctx, s); err != nil || changed {
		return ctrl.Result{}, err
	}
	resolving, changed, err := r.resolveOS(ctx, s)
	if err != nil || changed {
		return resolving, err
	}
	result, err := r.associate(ctx, s)
	result = util.LowestNonZeroResult(result, resolving)
	if err != nil || s.host == nil {
		return result, errors.Join(err, r.observeUpToDate(ctx, s))
	}
	following, changed, followErr := r.followOwner(ctx, s)
	if changed {
		return ctrl.Result{}, nil
	}
	if err := r.syncHost(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.nameHost(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	observeHost(s)
	provision(s)
	continued, err := r.continueUpdate(ctx, s)
	crowded, nodeErr := r.reconcileNode(ctx, s)
	for _, other := range []ctrl.Result{following, continued, crowded} {
		result = util.LowestNonZeroResult(result, other)
	}
	return result, errors.Join(followErr, err, nodeErr, r.observeUpToDate(ctx, s))
}

// associate finds the machine's host, or claims one.
func (r *Reconciler) associate(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.machine.Spec.HostRef != nil {
		return ctrl.Result{}, r.findHost(ctx, s)
	}
	if !readyToClaim(s) {
		return ctrl.Result{}, nil
	}
	if suspected, err := r.isSuspected(ctx, s); err != nil || suspected { // what the owner wants is no event
		return ctrl.Result{RequeueAfter: capiworkaround.FirstOSInterval}, err
	}
	claimer := r.claimer()
	claimer.OSReplaced = func(host *infrav1.ElementalHost, former infrav1.OSVersionManagement) {
		r.record(hostOSReplaced(s.machine, host, former))
	}
	host, err := claimer.Claim(ctx, newClaim(s))
	switch {
	case errors.Is(err, association.ErrNoHost):
		// A host that becomes free is an event, see hostToMachines.
		condition.False(s.machine, infrav1.AssociationReadyCondition, infrav1.MissingAvailableHostsReason, "%s", noHostMessage(s))
		return ctrl.Result{}, nil
	case errors.Is(err, association.ErrContended):
		condition.False(s.machine, infrav1.AssociationReadyCondition, infrav1.MissingAvailableHostsReason,
			"Other machines claim the same ElementalHosts; trying again")
		return ctrl.Result{RequeueAfter: claimRetry}, nil
	case err != nil:
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("Associated host", "ElementalHost", klog.KObj(host))
	r.record(hostAssociated(s.machine, host))
	condition.True(s.machine, infrav1.AssociationReadyCondition)
	// The machine has been written; all else follows when the cache has seen that.
	return ctrl.Result{}, nil
}

// readyToClaim reports whether all is there that a host is claimed for, and reports what is not.
func readyToClaim(s *scope) bool {
	missing := func(reason, format string, args ...any) bool {
		condition.False(s.machine, infrav1.AssociationReadyCondition, reason, format, args...)
		return false
	}
	if s.owner == nil {
		return missing(infrav1.MissingMachineOwnerReason, "Waiting for a Machine to own the ElementalMachine")
	}
	if !s.owner.DeletionTimestamp.IsZero() {
		return missing(infrav1.MissingMachineOwnerReason, "Machine %s is being deleted", s.owner.Name)
	}
	if s.cluster == nil {
		return missing(infrav1.MissingAssociatedClusterReason, "Waiting for Cluster %s to exist", s.owner.Spec.ClusterName)
	}
	if !ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false) {
		return missing(infrav1.MissingClusterInfrastructureReadyReason, "Waiting for the infrastructure of Cluster %s to be provisioned", s.cluster.Name)
	}
	if ptr.Deref(s.owner.Spec.Bootstrap.DataSecretName, "") == "" {
		return missing(infrav1.MissingBootstrapSecretReason, "Waiting for the bootstrap data of Machine %s", s.owner.Name)
	}
	if s.unresolved != nil {
		return missing(s.unresolved.Reason, "%s", s.unresolved.Message)
	}
	if _, err := association.Selector(s.machine); err != nil {
		return missing(infrav1.InvalidSelectorReason, "%s; correct it in the ElementalMachineTemplate", err.Error())
	}
	return true
}

func newClaim(s *scope) association.Claim {
	return association.Claim{
		Machine:          s.machine,
		MachineName:      s.owner.Name,
		ClusterName:      s.cluster.Name,
		BootstrapSecret:  ptr.Deref(s.owner.Spec.Bootstrap.DataSecretName, ""),
		FailureDomain:    s.owner.Spec.FailureDomain,
		ElementalCluster: s.elementalCluster,
	}
}

func noHostMessage(s *scope) string {
	wanted := "No free ElementalHost"
	if selector, err := association.Selector(s.machine); err == nil && !selector.Empty() {
		wanted += " matches " + selector.String()
	}
	if domain := s.owner.Spec.FailureDomain; domain != "" {
		wanted += fmt.Sprintf(" in failure domain %s (label %s)", domain, association.FailureDomainLabel)
	}
	return wanted + ": one has to be approved, installed and not in use"
}

// findHost reads the host that the machine names.
func (r *Reconciler) findHost(ctx context.Context, s *scope) error {
	name := s.machine.Spec.HostRef.Name
	lost := func(why string) {
		condition.False(s.machine, infrav1.AssociationReadyCondition, infrav1.AssociatedHostNotFoundReason,
			"ElementalHost %s %s; delete the Machine to have it replaced", name, why)
	}
	host := &infrav1.ElementalHost{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.machine.Namespace, Name: name}, host)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading ElementalHost %s: %w", name, err)
	case err != nil:
		lost("does not exist")
		return nil
	case hoststate.Released(host):
		lost("is being reset or deleted")
		return nil
	case !association.Serves(host, s.machine) && host.Spec.MachineRef != nil:
		lost("serves another machine")
		return nil
	case association.Replaced(host, s.machine):
		condition.False(s.machine, infrav1.AssociationReadyCondition, infrav1.AssociatedHostReplacedReason,
			"ElementalHost %s was registered again and is not known to be the host that served the machine; delete the Machine "+
				"to have it replaced or, if it is that host, set spec.hostRef.uid of the ElementalMachine to %s", name, host.UID)
		return nil
	}
	s.host = host.DeepCopy()
	condition.True(s.machine, infrav1.AssociationReadyCondition)
	return nil
}

// syncHost passes on what the host has to know of its machine. It writes only what differs, and only if
// the host is as it was read: the lock is among it.
func (r *Reconciler) syncHost(ctx context.Context, s *scope) error {
	if s.owner == nil || s.cluster == nil || s.unresolved != nil {
		return nil
	}
	before := s.host.DeepCopy()
	claim := newClaim(s)
	if err := association.Assign(ctx, r.Client, s.host, claim); err != nil {
		return err
	}
	if !hoststate.Bootstrapped(s.host) && claim.BootstrapSecret != "" {
		s.host.Spec.BootstrapSecret = &infrav1.SecretReference{Name: claim.BootstrapSecret}
	}
	if equality.Semantic.DeepEqual(before, s.host) {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Passing the machine's spec on to its host", "ElementalHost", klog.KObj(s.host))
	if err := r.Client.Patch(ctx, s.host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing ElementalHost %s: %w", s.host.Name, err)
	}
	return nil
}

// observeHost reports the host: its addresses, its failure domain, and whether it is bootstrapped.
func observeHost(s *scope) {
	s.machine.Status.Addresses = s.host.Status.Addresses
	s.machine.Status.FailureDomain = association.FailureDomain(s.host)

	waits := func(reason, what string) {
		if s.host.Status.Message != "" {
			what += ": " + s.host.Status.Message
		}
		condition.False(s.machine, infrav1.HostReadyCondition, reason, "ElementalHost %s %s", s.host.Name, what)
	}
	switch {
	case hoststate.Bootstrapped(s.host):
		condition.True(s.machine, infrav1.HostReadyCondition)
	case !hoststate.Installed(s.host):
		waits(infrav1.HostWaitingForInstallReason, "is not installed")
	case hoststate.Runs(s.host, s.machine.Spec.OSVersionManagement) == hoststate.MatchOther:
		waits(infrav1.HostWaitingForOSReason, "does not run the wanted OS yet")
	default:
		waits(infrav1.HostWaitingForBootstrapReason, "has not applied its bootstrap data yet")
	}
}

// provision tells Cluster API that the machine exists. It does not wait for the Node, for which Cluster
// API needs the provider ID first; and it never turns back.
func provision(s *scope) {
	if s.machine.Spec.ProviderID == "" {
		s.machine.Spec.ProviderID = association.ProviderID(s.host)
	}
	if hoststate.Bootstrapped(s.host) {
		s.machine.Status.Initialization.Provisioned = ptr.To(true)
	}
}
