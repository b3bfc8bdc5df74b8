// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagerules"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// getReset returns how to reset a host. It is authenticated by the host's token, since the registration's may have expired.
func (s *Server) getReset(r *http.Request) (reply, error) {
	caller, err := s.authenticate(r)
	if err != nil {
		return reply{}, err
	}
	if caller.denied != nil && caller.denied.Reset != infrav1.DeniedKeyResetPending {
		return reply{}, refuseDenied(caller.denied, registrationOf(r).Name)
	}
	registration, err := s.registrations.get(r.Context(), registrationOf(r))
	if err != nil {
		return reply{}, err
	}
	rules, err := s.roots.Complete(r.Context(), registration.Namespace, imagerules.Convert(registration.Spec.ImageVerification))
	if err != nil {
		return reply{}, err
	}
	answer := wire.Reset{ImageVerification: rules}
	if options := registration.Spec.Config.Elemental.Reset; len(options) > 0 {
		if answer.Options, err = json.Marshal(options); err != nil {
			return reply{}, fmt.Errorf("encoding the reset options of ElementalRegistration %s/%s: %w", registration.Namespace, registration.Name, err)
		}
	}
	return reply{status: http.StatusOK, body: answer}, nil
}
