// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// maxBudgets are named in a plan.
const maxBudgets = 5

// Namespaces says which namespaces have opted in to upgrades in place.
type Namespaces interface {
	// NotOptedIn says why a namespace has not; empty where it has.
	NotOptedIn(ctx context.Context, namespace string) (string, error)
}

// Foresee completes a plan: what becomes of the virtual machines of each node if it went down now, what each node does at the moment, what the upgrade
// would wait for besides its checks, and how long it may take. Nodes that go later may have other virtual machines by then.
func (v *Viewer) Foresee(ctx context.Context, seen *Outlook, wanted infrav1.OSVersionManagement) error {
	if len(seen.Subjects) == 0 && !seen.Unreachable {
		return nil
	}
	if err := v.foreseeHolds(ctx, seen, wanted); err != nil || seen.Unreachable {
		return err
	}
	if err := v.foreseeNodes(ctx, seen, wanted); err != nil {
		return err
	}
	live, err := v.Workload.Connect(ctx, client.ObjectKeyFromObject(seen.Cluster))
	if err != nil {
		return fmt.Errorf("looking at Cluster %s: %w", seen.Cluster.Name, err)
	}
	if err := seen.foreseeBudgets(ctx, live); err != nil {
		return err
	}
	return seen.foreseeMachines(ctx, live)
}

// Incomplete says in the plan that not all could be foreseen.
func (o *Outlook) Incomplete(err error) {
	o.beware = append(o.beware, "this plan, which is not complete: "+err.Error())
}

// foreseeHolds adds what holds all nodes of a Cluster.
func (v *Viewer) foreseeHolds(ctx context.Context, seen *Outlook, wanted infrav1.OSVersionManagement) error {
	namespace := seen.Cluster.Namespace
	if ptr.Deref(seen.Cluster.Spec.Paused, false) {
		seen.waitsFor("Cluster/" + seen.Cluster.Name + ": is paused: set its spec.paused to false")
	}
	if v.Namespaces != nil {
		closed, err := v.Namespaces.NotOptedIn(ctx, namespace)
		if err != nil {
			return err
		}
		if closed != "" {
			seen.waitsFor("Namespace/" + namespace + ": " + closed)
		}
	}
	image := osversion.Image(wanted)
	if _, digest, _ := strings.Cut(image, "@"); digest != "" {
		others, err := clusterview.Quarantining(ctx, v.Client, namespace, digest)
		if err != nil {
			return err
		}
		if why := preflight.Quarantined(seen.elemental, others, digest); why != "" {
			seen.waitsFor(why)
		}
	}
	governing, err := clusterupgrade.Governing(ctx, v.Client, client.ObjectKeyFromObject(seen.Cluster))
	if err == nil && governing != nil && osversion.SameImage(governing.Spec.OSVersion.ImageURI, image) {
		seen.waitsFor("ElementalClusterUpgrade/" + governing.Name + ": says which nodes of the Cluster begin: wait for its end, or cancel it")
	}
	return err
}

// foreseeNodes adds what nodes do at the moment, and how long they took in their last upgrades.
func (v *Viewer) foreseeNodes(ctx context.Context, seen *Outlook, wanted infrav1.OSVersionManagement) error {
	view, os := clusterview.New(v.Client, client.ObjectKeyFromObject(seen.Cluster)), hoststate.Decode(wanted)
	seen.doing = map[string]string{}
	took := []time.Duration{}
	for _, subject := range seen.Subjects {
		made, err := view.AttemptsOnHost(ctx, subject.Host.Name)
		if err != nil {
			return err
		}
		if last := attempts.Disruption(made); last > 0 {
			took = append(took, last)
		}
		active := attempts.NewestWhere(made, func(u *infrav1.ElementalHostUpgrade) bool { return u.PhaseNow().IsActive() })
		switch {
		case active != nil:
			seen.doing[subject.Node.Name] = fmt.Sprintf("; is being upgraded to %s, %s", active.Spec.ImageURI, position(active))
		case os.RunsOn(subject.Host) == hoststate.MatchSame:
			seen.doing[subject.Node.Name] = "; runs it already"
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		seen.took = took[len(took)/2]
	}
	return nil
}

// position of an attempt, in words.
func position(attempt *infrav1.ElementalHostUpgrade) string {
	if attempt.Status.Step == "" {
		return "which has not started"
	}
	return "at " + attempt.Status.Position()
}

// foreseeBudgets adds the PodDisruptionBudgets that keep nodes from being drained at the moment.
func (o *Outlook) foreseeBudgets(ctx context.Context, live *workload.Cluster) error {
	closed, err := live.ClosedBudgets(ctx)
	for _, name := range closed[:min(maxBudgets, len(closed))] {
		o.beware = append(o.beware, "PodDisruptionBudget/"+name+": allows no eviction at the moment: a node with one of its Pods is drained once it does")
	}
	if more := len(closed) - maxBudgets; more > 0 {
		o.beware = append(o.beware, fmt.Sprintf("%d more PodDisruptionBudgets that allow no eviction at the moment", more))
	}
	return err
}

// foreseeMachines adds what would become of the virtual machines of each node.
func (o *Outlook) foreseeMachines(ctx context.Context, live *workload.Cluster) error {
	nodes := make([]string, 0, len(o.Subjects))
	for _, subject := range o.Subjects {
		nodes = append(nodes, subject.Node.Name)
	}
	o.Decisions = map[string][]infrav1.VirtualMachineStatus{}
	for _, resident := range live.Residents() {
		foreseen, err := resident.Foresee(ctx, live, nodes, o.Options.VMPolicy)
		if err != nil {
			return err
		}
		for node, decisions := range foreseen {
			o.Decisions[node] = append(o.Decisions[node], decisions...)
		}
	}
	return nil
}

func (o *Outlook) waitsFor(line string) { o.waits = append(o.waits, line) }

// takes is about how long all nodes take, in words; empty where none has been upgraded before.
func (o *Outlook) takes() string {
	if o.took == 0 {
		return ""
	}
	most, single := max(1, int(o.Options.MaxConcurrent)), 0
	for _, subject := range o.Subjects {
		if util.IsControlPlaneMachine(subject.Machine) {
			single++
		}
	}
	rounds := single + (len(o.Subjects)-single+most-1)/most
	return ", about " + preflight.InWords(time.Duration(rounds)*o.took) + " by their last upgrades"
}
