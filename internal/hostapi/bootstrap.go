// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Keys of a bootstrap Secret. Source: Cluster API's contract for bootstrap providers.
const (
	bootstrapValue         = "value"
	bootstrapFormat        = "format"
	bootstrapFormatDefault = "cloud-config"
)

// getBootstrap hands out bootstrap data, which are the keys to a cluster: to the approved host that
// serves the Machine they are for, and as the API server has it now, not as the cache had it.
func (s *Server) getBootstrap(r *http.Request) (reply, error) {
	cached, err := s.authenticateHost(r)
	if err != nil {
		return reply{}, err
	}
	host, err := s.hosts.fromServer(r.Context(), client.ObjectKeyFromObject(cached))
	if err != nil {
		return reply{}, err
	}
	if host.UID != cached.UID || !sameKey(host.Spec.PubKey, cached.Spec.PubKey) {
		return reply{}, refuse(http.StatusUnauthorized, "host %s was registered anew with another key", host.Name)
	}
	if err := checkBootstrap(host); err != nil {
		return reply{}, err
	}
	data, err := s.bootstrapData(r.Context(), host)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: data}, nil
}

func checkBootstrap(host *infrav1.ElementalHost) error {
	secret := host.Spec.BootstrapSecret
	switch {
	case !host.Spec.Approved:
		return refuse(http.StatusForbidden, "host %s is not approved: an operator has to set spec.approved", host.Name)
	case hoststate.HasLabel(host, infrav1.NeedsResetLabel):
		return refuse(http.StatusForbidden, "host %s has to reset itself", host.Name)
	case host.Spec.MachineRef == nil || secret == nil || secret.Name == "":
		return refuse(http.StatusNotFound, "there is no bootstrap data for host %s yet", host.Name)
	case hoststate.Bootstrapped(host):
		// Whoever has the host's key now needs what is in it no more, and could join another node with it.
		return refuse(http.StatusForbidden, "host %s is bootstrapped: its bootstrap data are not handed out again", host.Name)
	case secret.Namespace != "" && secret.Namespace != host.Namespace:
		return refuse(http.StatusForbidden, "bootstrap data of host %s is in another namespace than the host", host.Name)
	}
	return nil
}

func (s *Server) bootstrapData(ctx context.Context, host *infrav1.ElementalHost) (*wire.Bootstrap, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: host.Namespace, Name: host.Spec.BootstrapSecret.Name}
	err := s.live.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) || (err == nil && len(secret.Data[bootstrapValue]) == 0) {
		return nil, refuse(http.StatusNotFound, "there is no bootstrap data for host %s yet", host.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading bootstrap Secret %s: %w", key, err)
	}
	format := string(secret.Data[bootstrapFormat])
	if format == "" {
		format = bootstrapFormatDefault
	}
	return &wire.Bootstrap{Format: format, Config: string(secret.Data[bootstrapValue])}, nil
}
