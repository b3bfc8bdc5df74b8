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

// hostChanged lets pass all of a host but the progress of what takes long, when its agent spoke, and its conditions: each write of those
// would have the attempt read everything live for nothing that it decides on.
func hostChanged() predicate.Funcs {
	return predicates.Changed(seen)
}

func seen(host *infrav1.ElementalHost) any {
	seen := *host
	seen.ResourceVersion, seen.ManagedFields = "", nil
	seen.Annotations = predicates.Without(seen.Annotations, infrav1.BlockMoveAnnotation) // which is the attempts' own
	seen.Status.Agent.LastSeen, seen.Status.Conditions = metav1.Time{}, nil
	seen.Status.Upgrade = hoststate.WithoutProgress(seen.Status.Upgrade)
	return seen
}

// recordProgress says at which step the attempt is, and how far the host is with what takes long, as it was when the attempt was
// looked at.
func (o *observation) recordProgress() {
	status := &o.upgrade.Status
	status.Progress = ""
	if status.Step == "" || isEnded(status.Phase) {
		return
	}
	status.Progress = fmt.Sprintf("%d/%d", status.StepIndex, status.StepCount)
	if progress := o.hostReport().Progress; progress != nil {
		status.Progress += ", " + describeProgress(*progress)
	}
}

func describeProgress(progress infrav1.HostUpgradeProgress) string {
	if progress.TotalBytes == 0 {
		return fmt.Sprintf("%s: %d MiB", progress.Stage, progress.Bytes/mebibyte)
	}
	return fmt.Sprintf("%s: %d of %d MiB", progress.Stage, progress.Bytes/mebibyte, progress.TotalBytes/mebibyte)
}
