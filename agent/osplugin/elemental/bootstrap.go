// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	formatCloudConfig = "cloud-config"
	// networkUnit of the toolkit runs the network stage.
	networkUnit = "elemental-setup-network.service"
)

// Bootstrap converts a cloud-config into a yip file that runs in the network stage of the next boot, since it may need the network, and
// removes itself once the sentinel says that it succeeded: yip runs its files at every boot, and this one contains a join token.
func (p *Plugin) Bootstrap(_ context.Context, data wire.Bootstrap) error {
	if data.Format != formatCloudConfig {
		return fmt.Errorf("bootstrap data has format %q, Elemental hosts take %q: %w", data.Format, formatCloudConfig, osplugin.ErrUnsupported)
	}
	stage, ignored, err := convert(data.Config)
	if err != nil {
		return fmt.Errorf("converting bootstrap data: %w: %w", err, osplugin.ErrUnsupported)
	}
	if len(ignored) > 0 {
		p.log.Warn("Ignoring unsupported keys of the bootstrap data", "keys", ignored)
	}
	writesSentinel := func(command string) bool { return strings.Contains(command, bootstrapSentinel) }
	if !slices.ContainsFunc(stage.Commands, writesSentinel) {
		stage.Commands = append(stage.Commands, "mkdir -p /run/cluster-api && echo success > "+bootstrapSentinel)
	}
	stage.Name = "Cluster API bootstrap"
	file := yipFile{Name: "Cluster API bootstrap", Stages: map[string][]yipStage{
		stageNetwork: {stage},
		stageNetworkAfter: {{
			Name:     "Remove the bootstrap once it has succeeded",
			If:       "[ -f " + bootstrapSentinel + " ]",
			Commands: []string{"rm -f " + bootstrapConfig},
		}},
	}}
	if err := p.writeYip(bootstrapConfig, file); err != nil {
		return err
	}
	return p.flush()
}

// BootstrapState checks for the file and the sentinel.
func (p *Plugin) BootstrapState(context.Context) (osplugin.BootstrapState, error) {
	return osplugin.BootstrapState{Placed: p.host.Exists(bootstrapConfig), Applied: p.host.Exists(bootstrapSentinel)}, nil
}

// BootstrapFailure asks systemd for the unit that runs the network stage: it fails if a command of any file in that stage does.
func (p *Plugin) BootstrapFailure(ctx context.Context) (unit string, err error) {
	states, err := p.host.ActiveStates(ctx, networkUnit)
	if err != nil || !slices.Contains(states, "failed") {
		return "", err
	}
	return networkUnit, nil
}
