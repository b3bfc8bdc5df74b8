// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

// address is how hosts reach the API: what an operator has set in spec, and the manager's endpoint and authorities otherwise.
func (r *Reconciler) address(registration *infrav1.ElementalRegistration) (uri, caCert string, err error) {
	uri, caCert = r.overrides(registration)
	if caCert == "" {
		if caCert, err = r.CACert(); err != nil {
			return "", "", err
		}
	}
	return cmp.Or(uri, r.ownURI(registration)), caCert, nil
}

// overrides returns what an operator has set in spec. Version 0.7 stored its own address there, with a token; that is not
// theirs, or hosts would be given an endpoint and authorities of former times for ever.
func (r *Reconciler) overrides(registration *infrav1.ElementalRegistration) (uri, caCert string) {
	said := registration.Spec.Config.Elemental.Registration
	if said.Token != "" && said.URI == r.ownURI(registration) {
		return "", ""
	}
	return said.URI, said.CACert
}

// removeStored removes from spec what version 0.7 stored there: the token, which whoever reads registrations could read, and
// the address unless an operator has set another one.
func (r *Reconciler) removeStored(ctx context.Context, registration *infrav1.ElementalRegistration) error {
	if registration.Spec.Config.Elemental.Registration.Token == "" {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Removing the token from spec.config.elemental.registration: it is in a Secret",
		"Secret", registration.Status.TokenSecretName)
	cleaned := registration.DeepCopy()
	said := &cleaned.Spec.Config.Elemental.Registration
	said.URI, said.CACert = r.overrides(registration)
	said.Token = ""
	// An address that an operator sets meanwhile must not be removed.
	err := r.Client.Patch(ctx, cleaned, client.MergeFromWithOptions(registration, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the token from spec of ElementalRegistration %s: %w", registration.Name, err)
	}
	return nil
}

func (r *Reconciler) ownURI(registration *infrav1.ElementalRegistration) string {
	return token.RegistrationURI(withScheme(r.Endpoint), registration.Namespace, registration.Name)
}

// withScheme completes an endpoint that was given as host and port.
func withScheme(endpoint string) string {
	if strings.Contains(endpoint, "://") {
		return endpoint
	}
	return "https://" + endpoint
}
