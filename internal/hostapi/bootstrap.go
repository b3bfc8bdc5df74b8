// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Keys of a bootstrap Secret. Source: Cluster API's contract for bootstrap providers.
const (
	bootstrapValue         = "value"
	bootstrapFormat        = "format"
	bootstrapFormatDefault = "cloud-config"
)

// getBootstrap returns bootstrap data, which are the keys to a cluster, only to the approved host that serves their Machine, as read live.
// The Machine determines the Secret. The reference in the ElementalHost only wakes the host: if it were used, anyone with write access to
// ElementalHosts could read any Secret.
func (s *Server) getBootstrap(r *http.Request) (reply, error) {
	cached, err := s.authenticateHost(r)
	if err != nil {
		return reply{}, err
	}
	host, err := s.hosts.fromServer(r.Context(), client.ObjectKeyFromObject(cached))
	if err != nil {
		return reply{}, err
	}
	if host.UID != cached.UID || !token.SameKey(host.Spec.PubKey, cached.Spec.PubKey) {
		return reply{}, refuse(http.StatusUnauthorized, "host %s was registered again with another key", host.Name)
	}
	if err := checkBootstrap(host); err != nil {
		return reply{}, err
	}
	machine, err := s.servedMachine(r, host)
	if err != nil {
		return reply{}, err
	}
	data, err := s.bootstrapData(r, host, machine)
	if err != nil {
		return reply{}, err
	}
	s.tellHandedOut(r, host, machine.Name)
	return reply{status: http.StatusOK, body: data}, nil
}

func checkBootstrap(host *infrav1.ElementalHost) error {
	switch {
	case !host.Spec.Approved:
		return refuse(http.StatusForbidden, "host %s is not approved: an operator has to set spec.approved", host.Name)
	case hoststate.HasLabel(host, infrav1.NeedsResetLabel):
		return refuse(http.StatusForbidden, "host %s has to reset itself", host.Name)
	case host.Spec.MachineRef == nil:
		return noBootstrapYet(host)
	case hoststate.Bootstrapped(host):
		// The host no longer needs the data, and whoever has its key could join another node with it.
		return refuse(http.StatusForbidden, "host %s is bootstrapped: its bootstrap data are not handed out again", host.Name)
	}
	return nil
}

// servedMachine returns the Machine that the host serves, if it has bootstrap data and is not being deleted.
func (s *Server) servedMachine(r *http.Request, host *infrav1.ElementalHost) (*clusterv1.Machine, error) {
	chain, err := association.ChainOfHost(r.Context(), s.live, client.ObjectKeyFromObject(host))
	broken := &association.Broken{}
	switch {
	case errors.As(err, &broken):
		return nil, s.withhold(r, host, broken.Link)
	case err != nil:
		return nil, fmt.Errorf("reading the Machine of ElementalHost %s/%s: %w", host.Namespace, host.Name, err)
	case !chain.Machine.DeletionTimestamp.IsZero() || !chain.Elemental.DeletionTimestamp.IsZero():
		return nil, noBootstrapYet(host)
	case ptr.Deref(chain.Machine.Spec.Bootstrap.DataSecretName, "") == "":
		return nil, noBootstrapYet(host)
	}
	return chain.Machine, nil
}

func (s *Server) bootstrapData(r *http.Request, host *infrav1.ElementalHost, machine *clusterv1.Machine) (*wire.Bootstrap, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: *machine.Spec.Bootstrap.DataSecretName}
	err := s.live.Get(r.Context(), key, secret)
	if apierrors.IsNotFound(err) || (err == nil && len(secret.Data[bootstrapValue]) == 0) {
		return nil, noBootstrapYet(host)
	}
	if err != nil {
		return nil, fmt.Errorf("reading bootstrap Secret %s: %w", key, err)
	}
	if reason := notBootstrapOf(machine, secret); reason != "" {
		return nil, s.withhold(r, host, reason)
	}
	text, reason := bootstrapText(secret)
	if reason != "" {
		return nil, s.withhold(r, host, reason)
	}
	format := string(secret.Data[bootstrapFormat])
	if format == "" {
		format = bootstrapFormatDefault
	}
	return &wire.Bootstrap{Format: format, Config: text}, nil
}

func noBootstrapYet(host *infrav1.ElementalHost) error {
	return refuse(http.StatusNotFound, "there is no bootstrap data for host %s yet", host.Name)
}

// withhold records an event with the reason why a host does not get bootstrap data. The host does not learn it.
func (s *Server) withhold(r *http.Request, host *infrav1.ElementalHost, reason string) error {
	s.tellWithheld(r, host, reason)
	return refuse(http.StatusForbidden, "bootstrap data are withheld from host %s: an operator finds the reason in the Events of its ElementalHost", host.Name)
}
