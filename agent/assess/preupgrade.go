// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"context"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// PreUpgradeDir has the user's programs that run before the OS is changed.
const PreUpgradeDir = "/etc/elemental/agent/pre-upgrade.d"

// preUpgradeTimeout is the timeout of one of them: it may save data of a workload.
const preUpgradeTimeout = 10 * time.Minute

// BeforeUpgrade runs the user's programs by name, up to the first that fails, for which the verdict is Bad. If the agent is killed, it runs
// all of them again.
func BeforeUpgrade(ctx context.Context, host *system.Host) (Verdict, error) {
	outcomes, err := runAll(ctx, host, programs{directory: PreUpgradeDir, tries: 1, timeout: preUpgradeTimeout, untilFailure: true})
	verdict := Verdict{State: Good}
	for _, each := range outcomes {
		verdict.Checks = append(verdict.Checks, each.check)
		if each.reason != "" {
			verdict.add(Bad, each.failure())
		}
	}
	return verdict, err
}
