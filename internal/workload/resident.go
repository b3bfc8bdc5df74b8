// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
)

// Resident is a system of a workload cluster whose objects on a Node an upgrade has to care for besides evicting Pods. A
// cluster in which it is not installed has nothing of it, and every verb finds that by itself. Embedding Nothing is an
// implementation of all verbs for which it has nothing to do.
type Resident interface {
	// Name tells its State from those of other residents.
	Name() string
	// Checks that it adds to the preflight, in the order in which they are reported.
	Checks() []Check
	// Read reads what the Checks look at; nil where it is not installed.
	Read(ctx context.Context, in Reading) (State, error)
	// Owns says of a Pod whether it goes the resident's own way, so that a drain leaves it out; nil if none does.
	Owns(ctx context.Context, in *Cluster) (func(*corev1.Pod) bool, error)
	// NodeLabel is on every Node that it has come to, and may outlast it; its value changes when it begins or ends to serve
	// the Node. Empty: nothing of it has to leave a Node.
	NodeLabel() string
	// Present reports whether there may be something of it on the Node that is to leave before the Node goes down.
	Present(ctx context.Context, in *Cluster, node *corev1.Node) (bool, error)
	// CertainlyPresent asks the cluster itself, as soon as it was uninstalled, too. It costs nothing where the Node never
	// had anything of it.
	CertainlyPresent(ctx context.Context, in *Cluster, node *corev1.Node) (bool, error)
	// Leaving is what tells by its events that something leaves a Node, besides Pods.
	Leaving() []drainwatch.Kind
	// Foresee says for each of the Nodes what would become of its virtual machines if it went down now. Writes nothing.
	Foresee(ctx context.Context, in *Cluster, nodes []string, policy infrav1.VMPolicy) (map[string][]infrav1.VirtualMachineStatus, error)
	// Evacuate makes what is on the Node leave it. It is one pass, and is repeated until it is done.
	Evacuate(ctx context.Context, in *Cluster, e Evacuation) (Progress, error)
	// Active names what of it runs on the Node; none once that is evacuated.
	Active(ctx context.Context, in *Cluster, node string) ([]string, error)
	// Cancel takes back an Evacuation that has not come to its end. It is one pass, too.
	Cancel(ctx context.Context, in *Cluster, e Evacuation) (Progress, error)
	// Restore brings back what an Evacuation has stopped. It is one pass, too.
	Restore(ctx context.Context, in *Cluster, r Restoration) (Progress, error)
	// ServingPods select its Pods that serve volumes, which a drain evicts last.
	ServingPods() []clusterv1.MachineDrainRulePodSelector
	// RefusedBecause says for whose sake it keeps a PodDisruptionBudget that refuses to evict the Pods, as a part of a
	// message that begins with "; "; empty where it keeps none.
	RefusedBecause(ctx context.Context, in *Cluster, node string, pods []*corev1.Pod) (string, error)
	// Attached names its volumes that are attached to the Node although no Pod that stays there uses them, and that may be
	// without a VolumeAttachment. The Node does not go down before they are detached.
	Attached(ctx context.Context, in *Cluster, node string) ([]string, error)
	// Hold keeps it from making up elsewhere for what is on the attempt's Node, which is about to go down.
	Hold(ctx context.Context, in *Cluster, attempt string) error
	// Release takes the Hold of the attempt back, and those of attempts that are not living any more.
	Release(ctx context.Context, in *Cluster, attempt string, living Living) error
	// Unsettled says what is waited for until that on the Node is as good as it was before the Node went down, which was
	// after the moment; empty if nothing is.
	Unsettled(ctx context.Context, in *Cluster, node string, since time.Time) (waitFor string, err error)
}

// Living are the ids of the attempts of a cluster that have not ended.
type Living func(context.Context) ([]string, error)
