// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// agents plays the agent on each machine: it executes the plan while the kubelet is well, and writes what its probes have found again and
// again as long as the machine is up. It never notices a conflict with others, who notice those with it.
type agents struct {
	kube      client.Client
	live      client.Reader
	workloads workloads
	period    time.Duration

	mu sync.Mutex
	// probed is when the Secret of each machine was written last.
	probed map[client.ObjectKey]time.Time
}

func (a *agents) setUp(name string, mgr ctrl.Manager) error {
	a.probed = map[client.ObjectKey]time.Time{}
	return ctrl.NewControllerManagedBy(mgr).Named(name).WithOptions(many()).For(&corev1.Secret{}, onPlanSecrets()).Complete(a)
}

// Reconcile implements reconcile.Reconciler.
func (a *agents) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	if err := a.live.Get(ctx, request.NamespacedName, secret); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	machine := &clusterv1.Machine{}
	if err := a.kube.Get(ctx, client.ObjectKey{Namespace: secret.Namespace, Name: secret.Labels[MachineNameLabel]}, machine); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	isUp, isWell := a.look(ctx, machine)
	if !isUp {
		return ctrl.Result{RequeueAfter: min(a.period, lookAgain)}, nil
	}
	due, hasWork := a.due(request.NamespacedName), isWell && isPending(secret)
	if due > 0 && !hasWork { // this event may be that of its own write
		return ctrl.Result{RequeueAfter: due}, nil
	}
	if err := a.write(ctx, secret, isWell); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: a.period}, nil
}

// due is the time until the Secret has to be written again.
func (a *agents) due(secret client.ObjectKey) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Until(a.probed[secret].Add(a.period))
}

// look reports whether the machine is up, and its kubelet well. Of one whose cluster does not answer nothing is known.
func (a *agents) look(ctx context.Context, machine *clusterv1.Machine) (isUp, isWell bool) {
	if !machine.Status.NodeRef.IsDefined() {
		return false, false
	}
	_, node, err := a.workloads.node(ctx, machine)
	if err != nil {
		return false, false
	}
	status := ready(node)
	return status != corev1.ConditionUnknown, status == corev1.ConditionTrue
}

// write tells what was probed, and that the plan is applied if the kubelet is well.
func (a *agents) write(ctx context.Context, secret *corev1.Secret, isWell bool) error {
	probed, err := probesOf(secret).next(isWell)
	if err != nil {
		return fmt.Errorf("encoding probes: %w", err)
	}
	data := map[string][]byte{probesKey: probed}
	if plan := secret.Data[planKey]; isWell && isPending(secret) {
		sum := sha256.Sum256(plan)
		data[appliedPlanKey], data[checksumKey] = plan, []byte(hex.EncodeToString(sum[:]))
		data[planStateKey], data[lastApplyKey] = []byte(planSucceeded), []byte(time.Now().UTC().Format(time.UnixDate))
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return fmt.Errorf("encoding probes: %w", err)
	}
	a.mu.Lock()
	a.probed[client.ObjectKeyFromObject(secret)] = time.Now()
	a.mu.Unlock()
	return client.IgnoreNotFound(a.kube.Patch(ctx, secret, client.RawPatch(types.MergePatchType, patch)))
}
