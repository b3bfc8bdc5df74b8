// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// deleteTries bounds how often a deletion is decided anew because the host changed meanwhile.
const deleteTries = 3

// deleteHost takes a host's word that it resets itself now. It says so in the status, since an
// ElementalHost that an operator deletes looks the same otherwise, and deletes it; finalizers are the
// host controller's.
func (s *Server) deleteHost(r *http.Request) (reply, error) {
	host, err := s.authenticateHost(r)
	if err != nil {
		return reply{}, err
	}
	if err := checkDelete(host); err != nil {
		// The cache may be late: what it knows is enough to go on, not to refuse.
		if host, err = s.hosts.fromServer(r.Context(), client.ObjectKeyFromObject(host)); err != nil {
			return reply{}, err
		}
		if err := checkDelete(host); err != nil {
			return reply{}, err
		}
	}
	if err := s.reportResetting(r.Context(), host); err != nil {
		return reply{}, err
	}
	if err := s.deleteIfFree(r.Context(), host); err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusAccepted}, nil
}

// checkDelete refuses a host that serves a Machine and was not asked to reset.
func checkDelete(host *infrav1.ElementalHost) error {
	if hoststate.HasLabel(host, infrav1.NeedsResetLabel) || host.Spec.MachineRef == nil {
		return nil
	}
	return refuse(http.StatusConflict, "host %s serves ElementalMachine %s and was not asked to reset: delete its Machine first",
		host.Name, host.Spec.MachineRef.Name)
}

func (s *Server) reportResetting(ctx context.Context, host *infrav1.ElementalHost) error {
	status := *s.reports.latest(ctx, client.ObjectKeyFromObject(host), host).Status.DeepCopy()
	status.Phase = infrav1.HostPhaseResetting
	return s.reports.submit(ctx, host, status)
}

// deleteIfFree deletes what it judged and nothing else: a host that changed in the meantime may have
// been associated.
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
		err = s.client.Delete(ctx, current, client.Preconditions{UID: &uid, ResourceVersion: &current.ResourceVersion})
		if !apierrors.IsConflict(err) {
			if err = client.IgnoreNotFound(err); err != nil {
				return fmt.Errorf("deleting ElementalHost %s: %w", key, err)
			}
			return nil
		}
	}
	return refuseForNow("host " + host.Name + " is being changed")
}
