// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"context"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// PreUpgradeDir has the user's programs that are run before anything of the OS is changed.
const PreUpgradeDir = "/etc/elemental/agent/pre-upgrade.d"

// preUpgradeTimeout is how long one of them may take: it may save what a workload has on the host.
const preUpgradeTimeout = 10 * time.Minute

// BeforeUpgrade runs the user's programs by name, up to the first that fails, and says why that did; empty when none has. An agent that is
// killed meanwhile runs all of them again.
func BeforeUpgrade(ctx context.Context, host *system.Host) (failure string, err error) {
	run := programs{directory: PreUpgradeDir, tries: 1, timeout: preUpgradeTimeout, untilFailure: true}
	failures, err := runAll(ctx, host, run)
	return strings.Join(failures, ""), err
}
