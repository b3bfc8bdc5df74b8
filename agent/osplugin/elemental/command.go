// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// longestRun is the timeout of an installation, an upgrade or a reset: a hook that hangs would otherwise block the host for ever without a
// report. Images are fetched before, so a run takes minutes.
const longestRun = 2 * time.Hour

// cli is a command of the CLI that writes to a disk, in namespaces that end with it. The caller holds the lock.
func (p *Plugin) cli(args, env []string) system.Command {
	return system.Command{Name: "elemental", Args: args, Env: env, Private: p.host.Real(), Timeout: longestRun, Held: p.held}
}
