// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

const mebibyte = 1 << 20

// hostChanged lets pass all of a host but the progress of what takes long, and when its agent spoke: each report of those would have the
// attempt read everything live for nothing that it decides on.
func hostChanged() predicate.Funcs {
	return predicates.Changed(seen)
}

func seen(host *infrav1.ElementalHost) any {
	seen := *host
	seen.ResourceVersion, seen.ManagedFields = "", nil
	seen.Status.Agent.LastSeen = metav1.Time{}
	seen.Status.Upgrade = hoststate.WithoutProgress(seen.Status.Upgrade)
	return seen
}

// recordProgress says how far the host is with what takes long, as it was when the attempt was looked at.
func (o *observation) recordProgress() {
	o.upgrade.Status.Progress = ""
	if progress := o.hostReport().Progress; progress != nil && !isEnded(o.upgrade.Status.Phase) {
		o.upgrade.Status.Progress = describeProgress(*progress)
	}
}

func describeProgress(progress infrav1.HostUpgradeProgress) string {
	if progress.TotalBytes == 0 {
		return fmt.Sprintf("%s: %d MiB", progress.Stage, progress.Bytes/mebibyte)
	}
	return fmt.Sprintf("%s: %d of %d MiB", progress.Stage, progress.Bytes/mebibyte, progress.TotalBytes/mebibyte)
}
