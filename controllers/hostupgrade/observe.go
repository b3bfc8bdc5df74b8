// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
)

// cacheTimeout is how long a cache may take that has not read a kind yet. What it has not is read live.
const cacheTimeout = 5 * time.Second

// WantedOS is what the owner of a Machine (its MachineDeployment or control plane) wants by now.
type WantedOS struct {
	// TemplateName is the ElementalMachineTemplate that the owner refers to.
	TemplateName string
	// OSVersionHash of that template.
	OSVersionHash string
}

// Owners tells what the owner of a Machine wants.
type Owners interface {
	// Wanted returns nil where the Machine has no owner that refers to an ElementalMachineTemplate, and why, according to the reader.
	Wanted(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (wanted *WantedOS, unknown string, err error)
}

// Namespaces tells which namespaces have opted in to upgrades in place.
type Namespaces interface {
	// NotOptedIn says, from a live read, why a namespace has not opted in, and what to change; empty where it has.
	NotOptedIn(ctx context.Context, namespace string) (string, error)
}

// observation is all that one reconcile decides on. Objects that do not exist are nil.
type observation struct {
	now     time.Time
	started time.Time
	upgrade *infrav1.ElementalHostUpgrade
	// reader is what the objects of the management cluster are read from: the API server, or the cache if cacheOnly, see stillWaits.
	reader    client.Reader
	cacheOnly bool
	// owners is what the owner of the Machine is read from where a slot or a trigger depends on it: the API server, at which the decisions of one moment share
	// a reader, or the cache for what is decided again.
	owners client.Reader
	// attempt is the id in every mark of this attempt.
	attempt string
	options infrav1.NodeUpgradeOption

	cluster          *clusterv1.Cluster
	elementalCluster *infrav1.ElementalCluster
	machine          *clusterv1.Machine
	host             *infrav1.ElementalHost
	rollout          *infrav1.ElementalRollout
	// elementalMachine is read by Preflight, for the host that is about to be asked for something: see openChain.
	elementalMachine *infrav1.ElementalMachine
	// wanted is nil where it is not known what the owner of the Machine wants; unknown is why, or unread why it could not be read.
	wanted  *WantedOS
	unknown string
	unread  error
	// requested is the hash of the OS that the Machine's ElementalMachine specifies. It is read for an attempt that has not done
	// anything yet and that the owner does not want; nil otherwise.
	requested *string
	// attempts are the other attempts on the same host, and rival the one that goes first.
	attempts []infrav1.ElementalHostUpgrade
	rival    *infrav1.ElementalHostUpgrade
	// governing is the ElementalClusterUpgrade in force, if that is the attempt's; nil otherwise. clusterDigest is what it has its image resolved to.
	governing     *infrav1.ElementalClusterUpgrade
	clusterDigest string
	// atAdmit is what keeps the attempt from a slot, where that is known before anything is read live: see queue and leaveToAdmit.
	atAdmit []*hold

	// turnAfter is after how long an attempt that waits for nodes before its own looks again.
	turnAfter time.Duration

	// workload is nil while the workload cluster cannot be reached, and node with it. unreached is the cause; nil where
	// there is no connection.
	workload  *workload.Cluster
	node      *corev1.Node
	unreached error
	// drain is what Rancher asks for the Machine; nil for the other drivers.
	drain *rancher.Drain
	// disruptingBefore is the stored status of condition Disrupting; empty where there is none.
	disruptingBefore metav1.ConditionStatus
	// excused is what was not healthy before the attempt and is not yet, as far as this reconcile has looked.
	excused []infrav1.UnhealthyObject
	// deferred is what the end of the attempt waits for last; nil if nothing.
	deferred *sequence.Result
	// leftUnsettled is what a user has not waited for any longer.
	leftUnsettled string
	// watched are the kinds that steps have asked to be woken by, see watchDrain.
	watched []drainwatch.Kind
}

// attemptOf is the id of an attempt.
func attemptOf(upgrade *infrav1.ElementalHostUpgrade) string { return attempts.ID(upgrade) }

// wasMoved reports whether the attempt began on another management cluster, where its report stayed.
func (o *observation) wasMoved() bool { return wasMoved(o.upgrade) }

func wasMoved(upgrade *infrav1.ElementalHostUpgrade) bool {
	return attempts.ID(upgrade) != attempts.FirstID(upgrade)
}

func (r *Reconciler) observe(ctx context.Context, upgrade *infrav1.ElementalHostUpgrade) (*observation, error) {
	return r.observeFrom(ctx, upgrade, r.APIReader, false)
}

func (r *Reconciler) observeFrom(ctx context.Context, upgrade *infrav1.ElementalHostUpgrade, reader client.Reader, cacheOnly bool) (*observation, error) {
	o := &observation{
		reader:    reader,
		cacheOnly: cacheOnly,
		owners:    r.APIReader,
		now:       r.Clock.Now(),
		started:   r.Started,
		upgrade:   upgrade,
		attempt:   attemptOf(upgrade),
		options:   upgrade.Spec.Options.WithDefaults(),
	}
	if stored := conditions.Get(upgrade, disrupting); stored != nil {
		o.disruptingBefore = stored.Status
	}
	for _, read := range []func(context.Context, *observation) error{
		r.observeManagement, r.observeRollout, r.observeClusterDigest, r.observeAttempts, r.observeDrain, r.observeWorkload,
	} {
		if err := read(ctx, o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (r *Reconciler) observeManagement(ctx context.Context, o *observation) error {
	spec, namespace := o.upgrade.Spec, o.upgrade.Namespace
	var err error
	if o.cluster, err = existing.Get(ctx, r.Client, &clusterv1.Cluster{}, namespace, spec.ClusterName); err != nil {
		return err
	}
	if o.machine, err = existing.Get(ctx, o.reader, &clusterv1.Machine{}, namespace, spec.MachineName); err != nil {
		return err
	}
	if o.host, err = existing.Get(ctx, o.reader, &infrav1.ElementalHost{}, namespace, spec.HostName); err != nil {
		return err
	}
	if o.cluster == nil || o.cluster.Spec.InfrastructureRef.Name == "" {
		return nil
	}
	o.elementalCluster, err = existing.Get(ctx, o.reader, &infrav1.ElementalCluster{}, namespace, o.cluster.Spec.InfrastructureRef.Name)
	return err
}

func (r *Reconciler) observeRollout(ctx context.Context, o *observation) error {
	if err := r.rolloutOf(ctx, o, r.Client); err != nil {
		return err
	}
	if o.rollout == nil && o.upgrade.Spec.Driver != infrav1.DriverClusterAPI && !isEnded(o.upgrade.PhaseNow()) { // the cache may not have it yet
		if err := o.requiresLive(); err != nil {
			return err
		}
		if err := r.rolloutOf(ctx, o, r.APIReader); err != nil {
			return err
		}
	}
	if o.machine == nil {
		return nil
	}
	if err := r.observeWanted(ctx, o); err != nil {
		return err
	}
	return r.observeRequested(ctx, o)
}

// rolloutOf the attempt, according to the reader.
func (r *Reconciler) rolloutOf(ctx context.Context, o *observation, reader client.Reader) error {
	name := o.upgrade.Spec.RolloutName
	if name == "" {
		return nil
	}
	of, err := existing.Get(ctx, reader, &infrav1.ElementalRollout{}, o.upgrade.Namespace, name)
	if err != nil {
		return err
	}
	o.rollout = nil
	if of != nil && belongs(o.upgrade, of) {
		o.rollout = of
	}
	return nil
}

// belongs reports whether an attempt is of a rollout that it names: it takes no digest from one of something else, and leaves none there.
func belongs(attempt *infrav1.ElementalHostUpgrade, to *infrav1.ElementalRollout) bool {
	return attempt.Spec.ClusterName == to.Spec.ClusterName && attempt.Spec.TemplateName == to.Spec.TemplateName &&
		osversion.Same(attempt.Spec.OSVersionManagement, to.Spec.OSVersionManagement)
}

// observeWanted reads what the owner of the Machine wants: live for an attempt whose host is triggered and has not started, which can be stopped for a
// moment only, and for one that is looked at for the first time, and may resume its slot; from the cache otherwise. What would end an attempt, or holds it already, is read live: a new
// one would take what the owner wanted before for a change of mind. So is what it is given its slot for, and what its host is triggered for, see notDesired.
func (r *Reconciler) observeWanted(ctx context.Context, o *observation) error {
	if o.triggered() && !o.hasStarted() || o.upgrade.Status.StartTime == nil {
		r.readWantedFrom(ctx, o, r.APIReader)
		return nil
	}
	cached, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	r.readWantedFrom(cached, o, r.Client)
	isHeld := slices.ContainsFunc(o.upgrade.Status.Holds, func(held infrav1.UpgradeHold) bool { return held.Reason == infrav1.HoldNoLongerDesired })
	if o.wanted != nil && !o.superseded() && !isHeld {
		return nil
	}
	if err := o.requiresLive(); err != nil {
		return err
	}
	r.readWantedFrom(ctx, o, r.APIReader)
	return nil
}

// readWantedFrom reads what the owner of the Machine wants. What cannot be read keeps an attempt from its host, see wantUnknown, and no host that was
// triggered from going on.
func (r *Reconciler) readWantedFrom(ctx context.Context, o *observation, reader client.Reader) {
	o.wanted, o.unknown, o.unread = r.Owners.Wanted(ctx, reader, o.machine)
}

// observeRequested reads whether Cluster API has requested the attempt's OS, which it does by the ElementalMachine.
func (r *Reconciler) observeRequested(ctx context.Context, o *observation) error {
	ref := o.machine.Spec.InfrastructureRef
	if !o.superseded() || len(o.upgrade.Status.Steps) > 0 || !association.NamesElementalMachine(ref) {
		return nil
	}
	elemental, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalMachine{}, o.upgrade.Namespace, ref.Name)
	if err == nil && elemental != nil {
		o.requested = new(osversion.Hash(elemental.Spec.OSVersionManagement))
	}
	return err
}

func (r *Reconciler) observeWorkload(ctx context.Context, o *observation) error {
	if o.cluster == nil {
		return nil
	}
	cluster, err := r.Workload.Connect(ctx, client.ObjectKeyFromObject(o.cluster))
	if errors.Is(err, workload.ErrUnreachable) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.watchNodes(ctx, client.ObjectKeyFromObject(o.cluster)); err != nil {
		return err
	}
	node, err := cluster.Node(ctx, o.nodeName())
	if err != nil {
		// A workload API server that does not answer is the normal state of a control plane whose node
		// is rebooting. It is waited for like a missing connection.
		ctrl.LoggerFrom(ctx).V(2).Info("Failed to read the Node, waiting for the workload cluster", "Node", klog.KRef("", o.nodeName()), "reason", err.Error())
		o.unreached = err
		return nil
	}
	o.workload, o.node = cluster, node
	return nil
}

// openChain says what keeps the Machine, the ElementalMachine and the host that an attempt names from being one node of its
// Cluster; empty where they are. The checks, the drain and the slot are those of the Machine: a host of another one would
// reboot with all that runs on it. A link may close later, as in the middle of a move, so it is waited for.
func (r *Reconciler) openChain(ctx context.Context, o *observation) (string, error) {
	spec := o.upgrade.Spec
	if o.machine.Spec.ClusterName != spec.ClusterName {
		return fmt.Sprintf("Machine %s belongs to Cluster %s, and spec.clusterName is %s", o.machine.Name, o.machine.Spec.ClusterName, spec.ClusterName), nil
	}
	var err error
	o.elementalMachine, err = existing.Get(ctx, o.reader, &infrav1.ElementalMachine{}, o.upgrade.Namespace, spec.ElementalMachineName)
	if err != nil {
		return "", err
	}
	if o.elementalMachine == nil {
		return fmt.Sprintf("ElementalMachine %s does not exist", spec.ElementalMachineName), nil
	}
	err = (&association.Chain{Machine: o.machine, Elemental: o.elementalMachine, Host: o.host}).Check()
	if broken := (*association.Broken)(nil); errors.As(err, &broken) {
		return broken.Link, nil
	}
	return "", err
}

// observeClusterDigest looks up the digest that all nodes of a cluster's upgrade get.
func (r *Reconciler) observeClusterDigest(ctx context.Context, o *observation) error {
	return r.readClusterDigest(ctx, o, r.Client)
}

func (r *Reconciler) readClusterDigest(ctx context.Context, o *observation, from client.Reader) error {
	governing, err := clusterupgrade.Governing(ctx, from, o.clusterKey())
	if err == nil && governing != nil && clusterupgrade.IsFor(governing, o.upgrade) {
		o.governing, o.clusterDigest = governing, clusterupgrade.Digest(governing)
	}
	return err
}

// observeAttempts lists the other attempts on the host. It lists live: the hook may have made one that
// the cache has not heard of. None goes before the one that the host takes part in, and older ones are removed at the start.
func (r *Reconciler) observeAttempts(ctx context.Context, o *observation) error {
	if o.upgrade.Status.StartTime != nil && o.asked() {
		return nil
	}
	if err := o.requiresLive(); err != nil {
		return err
	}
	onHost := &infrav1.ElementalHostUpgradeList{}
	if err := r.APIReader.List(ctx, onHost, client.InNamespace(o.upgrade.Namespace),
		client.MatchingFields{attempts.ByHost: o.upgrade.Spec.HostName}); err != nil {
		return fmt.Errorf("listing attempts on ElementalHost %s: %w", o.upgrade.Spec.HostName, err)
	}
	o.attempts = slices.DeleteFunc(onHost.Items, func(u infrav1.ElementalHostUpgrade) bool { return u.UID == o.upgrade.UID })
	o.rival = rivalOf(o.upgrade, o.attempts, o.host)
	return nil
}

// rivalOf returns the unfinished attempt on the same host that goes first: the one that the host takes
// part in already, and else the oldest.
func rivalOf(upgrade *infrav1.ElementalHostUpgrade, others []infrav1.ElementalHostUpgrade, host *infrav1.ElementalHost) *infrav1.ElementalHostUpgrade {
	asked := ""
	if host != nil && host.Spec.Upgrade != nil {
		asked = host.Spec.Upgrade.Attempt
	}
	if asked == attemptOf(upgrade) {
		return nil
	}
	var first *infrav1.ElementalHostUpgrade
	for i := range others {
		other := &others[i]
		switch {
		case isEnded(other.PhaseNow()):
		case attemptOf(other) == asked:
			return other
		case older(other, upgrade) && (first == nil || older(other, first)):
			first = other
		}
	}
	return first
}

// older orders attempts by age, and those of the same second by name.
func older(a, b *infrav1.ElementalHostUpgrade) bool { return infrav1.OldestFirst(a, b) < 0 }

// unlessHistory reads the attempt from the cache; nil if it is gone, or is history: it has ended for good and has taken back
// what it asked of its host. A fleet has many of those, and they cost no live read.
func (r *Reconciler) unlessHistory(ctx context.Context, req ctrl.Request) (*infrav1.ElementalHostUpgrade, error) {
	upgrade, err := existing.Get(ctx, r.Client, &infrav1.ElementalHostUpgrade{}, req.Namespace, req.Name)
	if err != nil || upgrade == nil || !attempts.IsHistory(upgrade) {
		return upgrade, err
	}
	host, err := existing.Get(ctx, r.Client, &infrav1.ElementalHost{}, req.Namespace, upgrade.Spec.HostName)
	if err != nil {
		return nil, err
	}
	if host == nil || host.Spec.Upgrade == nil || host.Spec.Upgrade.Attempt != attemptOf(upgrade) {
		return nil, nil
	}
	return upgrade, nil
}
