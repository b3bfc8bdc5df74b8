// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// deleteTries bounds how often a deletion is retried because the host has changed.
const deleteTries = 3

// deleteHost handles a host's report that it resets itself now. It records that in the status, which distinguishes it from a deletion by an
// operator, and deletes the ElementalHost. The host controller removes the finalizer when the host reports that it has been wiped.
func (s *Server) deleteHost(r *http.Request) (reply, error) {
	caller, err := s.authenticate(r)
	if err != nil {
		return reply{}, err
	}
	if caller.denied == nil {
		if err = s.leave(r.Context(), caller.host, infrav1.HostPhaseResetting); err == nil {
			s.tellLeaves(r, caller.host)
		}
	}
	return reply{status: http.StatusAccepted}, err
}

// reportWiped handles a host's report that it has been wiped.
func (s *Server) reportWiped(r *http.Request) (reply, error) {
	caller, err := s.authenticate(r)
	if err != nil {
		return reply{}, err
	}
	if caller.denied != nil {
		err = s.recordWiped(r.Context(), registrationOf(r), caller.denied)
	} else {
		err = s.leave(r.Context(), caller.host, infrav1.HostPhaseReset)
	}
	return reply{status: http.StatusNoContent}, err
}

// leave records the phase of a host's reset and deletes the host.
func (s *Server) leave(ctx context.Context, host *infrav1.ElementalHost, phase infrav1.HostPhase) error {
	if err := checkDelete(host); err != nil {
		// The cache may be stale: it suffices to continue, not to refuse.
		if host, err = s.hosts.fromServer(ctx, client.ObjectKeyFromObject(host)); err != nil {
			return err
		}
		if err := checkDelete(host); err != nil {
			return err
		}
	}
	if err := s.reportPhase(ctx, host, phase); err != nil {
		return err
	}
	return s.deleteIfFree(ctx, host)
}

// checkDelete refuses a host that serves a Machine and was not asked to reset.
func checkDelete(host *infrav1.ElementalHost) error {
	if hoststate.HasLabel(host, infrav1.NeedsResetLabel) || host.Spec.MachineRef == nil {
		return nil
	}
	return refuse(http.StatusConflict, "host %s serves ElementalMachine %s and was not asked to reset: delete its Machine first",
		host.Name, host.Spec.MachineRef.Name)
}

func (s *Server) reportPhase(ctx context.Context, host *infrav1.ElementalHost, phase infrav1.HostPhase) error {
	status := *s.reports.latest(ctx, client.ObjectKeyFromObject(host), host).Status.DeepCopy()
	status.Phase = phase
	return s.reports.submit(ctx, host, status)
}

// release removes the finalizer of a host that has nothing to wipe. If the host was never trusted, its deletion neither waits nor denies its
// key: otherwise anyone who can register could fill the list of denied keys.
func (s *Server) release(ctx context.Context, host *infrav1.ElementalHost) error {
	before := host.DeepCopy()
	if hoststate.OwesReset(host) || !controllerutil.RemoveFinalizer(host, infrav1.ElementalMachineFinalizer) {
		return nil
	}
	return s.client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// deleteIfFree deletes exactly the version that was checked: a host that changed since may have been associated.
func (s *Server) deleteIfFree(ctx context.Context, host *infrav1.ElementalHost) error {
	key, uid := client.ObjectKeyFromObject(host), host.UID
	for range deleteTries {
		current := &infrav1.ElementalHost{}
		err := s.live.Get(ctx, key, current)
		if apierrors.IsNotFound(err) || (err == nil && (current.UID != uid || !current.DeletionTimestamp.IsZero())) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading ElementalHost %s: %w", key, err)
		}
		if err := checkDelete(current); err != nil {
			return err
		}
		if err = s.release(ctx, current); err == nil {
			err = s.client.Delete(ctx, current, client.Preconditions{UID: &uid, ResourceVersion: &current.ResourceVersion})
		}
		if !apierrors.IsConflict(err) {
			if err = client.IgnoreNotFound(err); err != nil {
				return fmt.Errorf("deleting ElementalHost %s: %w", key, err)
			}
			return nil
		}
	}
	return refuseForNow("host " + host.Name + " is being changed")
}
