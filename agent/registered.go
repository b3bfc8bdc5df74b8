// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// registered records which registration has registered the host, so that a restart does not register again.
type registered struct {
	URI  string `json:"uri"`
	Host string `json:"host"`
}

func (a *Agent) isRegistered(host string) (bool, error) {
	mark := registered{}
	if _, err := system.ReadJSON(filepath.Join(a.workDir, identity.RegisteredFile), &mark); err != nil {
		return false, fmt.Errorf("reading the registration mark: %w", err)
	}
	return mark == registered{URI: a.Config.Registration.URI, Host: host}, nil
}

func (a *Agent) markRegistered(host string) error {
	a.Log.Info("The host is registered", "host", host, "registration", a.Config.Registration.URI)
	mark := registered{URI: a.Config.Registration.URI, Host: host}
	if err := system.WriteJSON(filepath.Join(a.workDir, identity.RegisteredFile), mark); err != nil {
		return fmt.Errorf("storing the registration mark: %w", err)
	}
	return nil
}
