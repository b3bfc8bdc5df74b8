// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

const elementalHostKind = "ElementalHost"

// Upgrade is what an attempt is made for.
type Upgrade struct {
	// Chain is the host with its Machine, whose ElementalMachine specifies the OS.
	*association.Chain
	// Template that the OS is from; empty if that is not known.
	Template string
	// Rollout that the attempt belongs to.
	Rollout string
	// Options in force for the rollout.
	Options infrav1.NodeUpgradeOption
	// Driver that makes the attempt.
	Driver infrav1.UpgradeDriver
}

// What the names of attempts start with. Those of control planes are first where attempts are listed by their names, as their nodes are upgraded first.
const (
	controlPlanePrefix = "control-plane-"
	workerPrefix       = "worker-"
)

// Name of the attempt. It follows from the Machine, its host and the rollout, so that there is only one, however often it is made.
func (u Upgrade) Name() string { return NameFor(u.Machine, u.Host.Name, u.Rollout) }

// NameFor is the name of the attempt on a Machine and its host in a rollout. Sorted, the names are in the order in which nodes are upgraded, if these have the names of
// their hosts and none is the beginning of another.
func NameFor(machine *clusterv1.Machine, host, of string) string {
	prefix := workerPrefix
	if util.IsControlPlaneMachine(machine) {
		prefix = controlPlanePrefix
	}
	return rollout.UpgradeName(prefix+host, machine.Name, of)
}

// New makes the attempt, which is not created.
func New(u Upgrade) *infrav1.ElementalHostUpgrade {
	wanted := osversion.Normalized(u.Elemental.Spec.OSVersionManagement)
	image := osversion.Image(wanted)
	return &infrav1.ElementalHostUpgrade{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: u.Host.Namespace,
			Name:      u.Name(),
			Labels:    labelsOf(u),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: infrav1.GroupVersion.String(),
				Kind:       elementalHostKind,
				Name:       u.Host.Name,
				UID:        u.Host.UID,
			}},
		},
		Spec: infrav1.ElementalHostUpgradeSpec{
			ClusterName:          u.Machine.Spec.ClusterName,
			Driver:               u.Driver,
			MachineName:          u.Machine.Name,
			ElementalMachineName: u.Elemental.Name,
			HostName:             u.Host.Name,
			TemplateName:         u.Template,
			RolloutName:          u.Rollout,
			ImageURI:             image,
			OSVersionManagement:  wanted,
			Options:              u.Options,
		},
	}
}

// labelsOf an attempt find it by its Cluster and Machine, by the manager responsible for these, and among those of control planes.
func labelsOf(u Upgrade) map[string]string {
	labels := map[string]string{
		clusterv1.ClusterNameLabel: rollout.LabelValue(u.Machine.Spec.ClusterName),
		infrav1.MachineNameLabel:   rollout.LabelValue(u.Machine.Name),
	}
	if util.IsControlPlaneMachine(u.Machine) {
		labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	if filter, found := u.Elemental.Labels[clusterv1.WatchLabel]; found {
		labels[clusterv1.WatchLabel] = filter
	}
	return labels
}
