// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// checkPaused keeps hands off what a person has paused. The Cluster's and the attempt's own pause stop the
// controller altogether.
func checkPaused(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	const remedy = "is paused: take its annotation " + clusterv1.PausedAnnotation + " away to let its upgrade start"
	switch {
	case annotations.HasPaused(o.machine):
		return block("Machine/"+o.machine.Name, remedy), nil
	case annotations.HasPaused(o.host):
		return block("ElementalHost/"+o.host.Name, remedy), nil
	}
	return pass(), nil
}

func checkQuarantine(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	digest := o.digest()
	host, quarantined, err := quarantinedBy(o.elementalCluster, digest)
	if err != nil {
		return block("ElementalCluster/"+o.elementalCluster.Name, err.Error()), nil
	}
	if !quarantined {
		return pass(), nil
	}
	return block("Image/"+digest, quarantineMessage(o, host)), nil
}

func checkOtherAttempt(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	if o.rival == nil {
		return pass(), nil
	}
	return block("ElementalHostUpgrade/"+o.rival.Name,
		"is an unfinished attempt on the same host: wait for its end, or set its spec.cancel"), nil
}

func checkNodeReady(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	if workload.IsReady(o.node) {
		return pass(), nil
	}
	return block("Node/"+o.node.Name, "is not Ready: bring it back before it is upgraded"), nil
}

func checkNodeSchedulable(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	if !o.node.Spec.Unschedulable || workload.CordonedBy(o.node) == o.attempt {
		return pass(), nil
	}
	return block("Node/"+o.node.Name, "was cordoned by someone else and is left alone: kubectl uncordon it to let its upgrade start"), nil
}

func checkKubeletVersion(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	runs, wants := o.node.Status.NodeInfo.KubeletVersion, o.machine.Spec.Version
	if wants == "" || runs == wants {
		return pass(), nil
	}
	return warn("Node/"+o.node.Name, fmt.Sprintf(
		"runs kubelet %s and Machine %s wants %s: the upgrade ends only if the image brings %s", runs, o.machine.Name, wants, wants)), nil
}

// checkFreeSpace compares what the host measured when it prepared. The elemental CLI itself reports
// success after it has filled the state partition (Harvester issues 7457 and 10687).
func checkFreeSpace(_ context.Context, o *observation) (infrav1.PreflightResult, error) {
	report := o.hostReport()
	if report.FreeBytes == 0 || report.ImageBytes == 0 || report.FreeBytes >= report.ImageBytes {
		return pass(), nil
	}
	const mebibyte = 1 << 20
	return block("ElementalHost/"+o.host.Name, fmt.Sprintf(
		"has %d MiB free on its state partition and the image takes at least %d MiB: free some, or delete snapshots",
		report.FreeBytes/mebibyte, report.ImageBytes/mebibyte)), nil
}
