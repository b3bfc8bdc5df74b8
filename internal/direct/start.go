// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// requestAction is what is done in the event of attempts that are created.
const requestAction = "Upgrade"

// request the upgrade of a machine: its ElementalMachine is given the OS, and the attempt is made. A manager that is killed between the two goes on. What the
// cache has may be of a moment ago: what changes the ElementalMachine then is a conflict, and what decides on the attempt is read live by its controller.
func (p *pass) request(ctx context.Context, machine *Machine) (Result, error) {
	if why, err := p.waitsFor(ctx, machine); err != nil || why != "" {
		return p.waits(machine, why), err
	}
	chain, err := association.ChainOfMachine(ctx, p.Client, client.ObjectKeyFromObject(machine.Machine))
	if broken := (*association.Broken)(nil); errors.As(err, &broken) {
		return p.waits(machine, broken.Link), nil
	}
	if err != nil {
		return Result{}, err
	}
	chain.Elemental = machine.Elemental // which has what this pass has noted
	if err := p.specify(ctx, machine); err != nil {
		return Result{}, err
	}
	if p.isDone(machine, p.lastIn(p.rollout.Name, machine.attempts), attempts.LastAtWork(machine.attempts), chain.Host) || runsImage(chain.Host, p.of.OS) {
		return Result{After: retry}, nil // the next pass records that, once a former attempt has left the host
	}
	return p.create(ctx, attempts.Upgrade{
		Chain: chain, Template: p.of.Template.Name, Rollout: p.rollout.Name, Driver: p.driver, Options: p.rollout.Spec.Options,
	})
}

// waitsFor says why no attempt is made for a machine: what is done to it, or that its owner wants another OS, so that the attempt would be superseded at once.
func (p *pass) waitsFor(ctx context.Context, of *Machine) (string, error) {
	if why := inTheWay(of.Machine, of.Elemental); why != "" {
		return why, nil
	}
	reader := client.Reader(p.Client)
	if !owner.IsOfMachineSet(of.Machine) {
		reader = p.Live // the kind of its owner is in no cache
	}
	want, found, err := owner.WantsOS(ctx, reader, of.Machine)
	if err != nil || !found || osversion.Hash(want.OSVersionManagement) == p.hash {
		return "", err
	}
	return fmt.Sprintf("its owner wants the OS of ElementalMachineTemplate %s, and the Machine was made from %s: delete the Machine, or have the owner refer to that",
		want.TemplateName, p.of.Template.Name), nil
}

// announce the attempts that the pass has created.
func (p *pass) announce() {
	if p.created > 0 {
		p.Recorder.Eventf(p.of.Template, p.rollout, corev1.EventTypeNormal, infrav1.EventUpgradesRequested, requestAction,
			"Created ElementalHostUpgrades for %d Machines of Cluster %s", p.created, p.cluster)
	}
}

// create the attempt. A former one of the name makes room first.
func (p *pass) create(ctx context.Context, upgrade attempts.Upgrade) (Result, error) {
	switch err := p.Client.Create(ctx, attempts.New(upgrade)); {
	case apierrors.IsAlreadyExists(err):
		return Result{After: soon}, p.makeRoom(ctx, upgrade.Elemental, upgrade.Name())
	case err != nil:
		return Result{}, fmt.Errorf("creating ElementalHostUpgrade %s: %w", upgrade.Name(), err)
	}
	p.created++
	return Result{After: retry}, nil
}

func (p *pass) waits(machine *Machine, why string) Result {
	return waitingFor(&inplace.Problem{
		Reason: infrav1.WaitingForMachineReason, Message: fmt.Sprintf("Machine %s is not upgraded: %s", machine.Machine.Name, why),
	})
}

// isPausedItself says why a machine is not upgraded whose ElementalMachine a user has paused.
const isPausedItself = "its ElementalMachine is paused: remove its annotation " + clusterv1.PausedAnnotation

// inTheWay says what is done to a Machine already; empty if nothing is.
func inTheWay(machine *clusterv1.Machine, elemental *infrav1.ElementalMachine) string {
	switch {
	case !machine.DeletionTimestamp.IsZero():
		return "it is being deleted"
	case annotations.HasPaused(machine):
		return "it is paused"
	case annotations.HasPaused(elemental):
		return isPausedItself
	case owner.IsUpdating(machine) || metav1.HasAnnotation(machine.ObjectMeta, runtimev1.PendingHooksAnnotation):
		return "Cluster API updates it in place"
	}
	return ""
}

// specify the OS in an ElementalMachine. Nothing but the OS is changed.
func (p *pass) specify(ctx context.Context, machine *Machine) error {
	if osversion.Same(machine.Elemental.Spec.OSVersionManagement, p.of.OS) {
		return p.save(ctx, machine)
	}
	machine.rememberRead(machine.Elemental.DeepCopy())
	machine.Elemental.Spec.OSVersionManagement = *p.of.OS.DeepCopy()
	return p.save(ctx, machine)
}

// makeRoom deletes a former attempt of the name, which was superseded or was for a former machine. The next pass makes a new one.
func (p *pass) makeRoom(ctx context.Context, machine *infrav1.ElementalMachine, name string) error {
	former, err := existing.Get(ctx, p.Live, &infrav1.ElementalHostUpgrade{}, machine.Namespace, name)
	if err != nil || former == nil {
		return err
	}
	isFormer := former.PhaseNow() == infrav1.UpgradeSuperseded || former.PhaseNow().IsEnd() && former.Spec.ElementalMachineName != machine.Name
	if !isFormer || !former.DeletionTimestamp.IsZero() {
		return nil // the cache lags behind
	}
	if err := p.Client.Delete(ctx, former, client.Preconditions{UID: ptr.To(former.UID)}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the former ElementalHostUpgrade %s: %w", name, err)
	}
	return nil
}

// isReached reports whether a host is known to run an OS, and nothing else is asked of it: no attempt is needed then. Of an OS that is more
// than its image only an attempt that succeeded tells.
func isReached(host *infrav1.ElementalHost, wanted infrav1.OSVersionManagement) bool {
	return host.Spec.Upgrade == nil && runsImage(host, wanted)
}

// runsImage reports whether a host runs an OS that is nothing but an image.
func runsImage(host *infrav1.ElementalHost, wanted infrav1.OSVersionManagement) bool {
	return osversion.IsImageOnly(wanted) && hoststate.Runs(host, wanted) == hoststate.MatchSame
}
