// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Status writes who the host is, for a person at its console who has to decide whether the ElementalHost of that name is this
// machine. It reads what the agent has stored and neither makes nor changes anything, so that it can be asked while the agent
// runs.
func Status(out io.Writer, host *system.Host, settings config.Config) error {
	workDir := host.Path(settings.Agent.WorkDir)
	own, err := identity.Read(workDir)
	if errors.Is(err, os.ErrNotExist) {
		_, err = fmt.Fprintf(out, "The host has not registered: there is no key in %s. It will register at %s\n", workDir, settings.Registration.URI)
		return err
	}
	if err != nil {
		return err
	}
	key, err := own.PublicKey()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Name:          %s\nRegistration:  %s\nKey:           %s\n", own.Name, settings.Registration.URI, wire.KeyFingerprint(key))
	return err
}
