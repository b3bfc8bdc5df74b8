// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"fmt"
	"path"
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
	converted, err := convert(data.Config)
	if err != nil {
		return fmt.Errorf("converting bootstrap data: %w: %w", err, osplugin.ErrUnsupported)
	}
	if len(converted.ignored) > 0 {
		p.log.Warn("Ignoring unsupported keys of the bootstrap data", "keys", converted.ignored)
	}
	file := yipFile{Stages: map[string][]yipStage{stageNetworkAfter: bootstrapSteps(converted)}}
	if err := p.writeYip(bootstrapConfig, file); err != nil {
		return err
	}
	return p.flush()
}

// bootstrapSteps are in the order of cloud-init's modules. They are all in the last stage: whatever other files do in the network stage has
// been done before. The recovery system, which may be there to reset the host, takes none of them.
// Source: cloud-init, config/cloud.cfg.tmpl: bootcmd, write_files, set_hostname, users_groups, ssh, and in its final stage
// write_files_deferred and scripts_user, which is what runs runcmd.
func bootstrapSteps(data userData) []yipStage {
	var steps []yipStage
	if data.bootcmd != "" {
		steps = append(steps, runScript("bootcmd", bootcmdScript, data.bootcmd))
	}
	steps = append(steps, writeFiles("Files", data.files)...)
	if data.hostname != "" {
		steps = append(steps, yipStage{Name: "Host name", Hostname: literal(data.hostname)})
	}
	if len(data.users) > 0 || len(data.keys) > 0 {
		steps = append(steps, yipStage{Name: "Users", Users: data.users, Keys: data.keys})
	}
	steps = append(steps, writeFiles("Deferred files", data.deferred)...)
	steps = append(steps, runCommands(data.runcmd))
	for i := range steps {
		steps[i].If = literal("[ ! -f " + fmt.Sprintf(modePattern, osplugin.ModeRecovery) + " ]")
	}
	return append(steps, yipStage{
		Name:     "Remove the bootstrap once it has succeeded",
		If:       "[ -f " + bootstrapSentinel + " ]",
		Commands: []literal{"rm -f " + bootstrapConfig + " " + bootcmdScript + " " + runcmdScript},
	})
}

// runScript writes a script and runs it.
func runScript(name, path, text string) yipStage {
	return yipStage{
		Name: name, Files: []yipContent{{Path: path, Mode: 0o700, Content: []byte(text)}}, Commands: []literal{literal("sh " + path)},
	}
}

// runCommands runs runcmd, which makes the sentinel; if it does not do that by itself, its success does. The last command fails without the
// sentinel: the script's exit code is that of its last command, which need not be the one that matters.
func runCommands(script string) yipStage {
	step := runScript("runcmd", runcmdScript, script)
	if !strings.Contains(script, bootstrapSentinel) {
		step.Commands[0] += " && mkdir -p " + literal(path.Dir(bootstrapSentinel)) + " && echo success > " + bootstrapSentinel
	}
	step.Commands = append(step.Commands, "[ -f "+bootstrapSentinel+" ]")
	return step
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
