// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// longestRun is when an installation, an upgrade or a reset is killed: a hook that hangs would keep the host from ever ending, and
// from saying so. Images are fetched before, so that none of them takes more than minutes.
const longestRun = 2 * time.Hour

// cli is a run of the CLI that writes a disk, in namespaces that end with it. Whoever calls it is alone.
func (p *Plugin) cli(args, env []string) system.Command {
	return system.Command{Name: "elemental", Args: args, Env: env, Private: p.host.Real(), Timeout: longestRun, Held: p.held}
}
