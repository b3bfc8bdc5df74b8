// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// drainer plays machinedrain: it does what the annotations of a plan Secret ask for, at each of its events.
type drainer struct {
	kube      client.Client
	live      client.Reader
	workloads workloads
	retry     time.Duration
}

func (d *drainer) setUp(name string, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(name).WithOptions(many()).For(&corev1.Secret{}, onPlanSecrets()).Complete(d)
}

// Reconcile implements reconcile.Reconciler.
func (d *drainer) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	if err := d.kube.Get(ctx, request.NamespacedName, secret); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	machine, err := d.machineOf(ctx, secret)
	if err != nil || machine == nil {
		return ctrl.Result{}, err
	}
	err = d.work(ctx, secret, machine)
	if ctx.Err() != nil { // Rancher is stopped
		return ctrl.Result{}, nil
	}
	if noteErr := d.noteError(ctx, secret, err); err == nil {
		err = noteErr
	}
	return ctrl.Result{}, err
}

// machineOf a plan Secret; nil if it is not one of a cluster that Rancher has provisioned.
func (d *drainer) machineOf(ctx context.Context, secret *corev1.Secret) (*clusterv1.Machine, error) {
	name := secret.Labels[lifecyclePrefix+"cluster-name"]
	if name == "" {
		return nil, nil
	}
	cluster := &clusterv1.Cluster{}
	if err := d.kube.Get(ctx, client.ObjectKey{Namespace: secret.Namespace, Name: name}, cluster); err != nil {
		return nil, fmt.Errorf("reading Cluster %s: %w", name, err)
	}
	if of := cluster.Spec.ControlPlaneRef; of.APIGroup != rkeGroup || of.Kind != ControlPlaneKind.Kind {
		return nil, nil
	}
	machine := &clusterv1.Machine{}
	if err := d.kube.Get(ctx, client.ObjectKey{Namespace: secret.Namespace, Name: secret.Labels[MachineNameLabel]}, machine); err != nil {
		return nil, fmt.Errorf("reading the Machine of Secret %s: %w", secret.Name, err)
	}
	return machine, nil
}

// work drains as long as that is not done for the options of now, whatever else is asked for, and then uncordons if that is asked for.
func (d *drainer) work(ctx context.Context, secret *corev1.Secret, machine *clusterv1.Machine) error {
	token := secret.Annotations[DrainOptionsAnnotation]
	switch {
	case token != "" && secret.Annotations[DrainDoneAnnotation] != token:
		return d.drain(ctx, secret, machine, token)
	case secret.Annotations[UncordonAnnotation] != "":
		return d.undrain(ctx, secret, machine, token)
	}
	return nil
}

// drain is steps 1 to 4: cordon, ask, evict, and tell that it is done.
func (d *drainer) drain(ctx context.Context, secret *corev1.Secret, machine *clusterv1.Machine, token string) error {
	options, err := parseToken(token)
	if err != nil {
		return err
	}
	if err := d.cordon(ctx, machine, true); err != nil {
		return err
	}
	if len(options.PreDrainHooks) > 0 {
		if secret.Annotations[PreDrainAnnotation] != token {
			return d.set(ctx, secret, PreDrainAnnotation, token, nil)
		}
		if !answered(secret.Annotations, options.PreDrainHooks, token) {
			return nil
		}
	}
	if options.Enabled && machine.Status.NodeRef.IsDefined() {
		if err := d.evictAll(ctx, machine, options); err != nil {
			return err
		}
	}
	return d.set(ctx, secret, DrainDoneAnnotation, token, options.PreDrainHooks)
}

// undrain is steps 6 and 7: ask, uncordon whatever was before, and remove all keys of the drain and of its hooks.
func (d *drainer) undrain(ctx context.Context, secret *corev1.Secret, machine *clusterv1.Machine, token string) error {
	if !machine.Status.NodeRef.IsDefined() {
		return nil
	}
	options, err := parseToken(token)
	if err != nil {
		return err
	}
	if len(options.PostDrainHooks) > 0 {
		if secret.Annotations[PostDrainAnnotation] != token {
			return d.set(ctx, secret, PostDrainAnnotation, token, nil)
		}
		if !answered(secret.Annotations, options.PostDrainHooks, token) {
			return nil
		}
	}
	if err := d.cordon(ctx, machine, false); err != nil {
		return err
	}
	return d.change(ctx, secret, func(live *corev1.Secret) bool {
		if !answered(live.Annotations, options.PostDrainHooks, token) {
			return false
		}
		for _, key := range drainKeys() {
			delete(live.Annotations, key)
		}
		for _, hook := range append(options.PreDrainHooks, options.PostDrainHooks...) {
			delete(live.Annotations, hook.Annotation)
		}
		return true
	})
}

func (d *drainer) cordon(ctx context.Context, machine *clusterv1.Machine, wanted bool) error {
	if !machine.Status.NodeRef.IsDefined() {
		return nil
	}
	kube, node, err := d.workloads.node(ctx, machine)
	if err != nil {
		return err
	}
	return setUnschedulable(ctx, kube, node, wanted)
}

// set writes an annotation if the hooks still have the token as answer.
func (d *drainer) set(ctx context.Context, secret *corev1.Secret, key, token string, hooks []DrainHook) error {
	return d.change(ctx, secret, func(live *corev1.Secret) bool {
		if live.Annotations[key] == token || !answered(live.Annotations, hooks, token) {
			return false
		}
		live.Annotations[key] = token
		return true
	})
}

// noteError notes why the last attempt has failed, or that it has not.
func (d *drainer) noteError(ctx context.Context, secret *corev1.Secret, failure error) error {
	known, isNoted := secret.Annotations[DrainErrorAnnotation]
	if failure == nil && !isNoted || failure != nil && known == failure.Error() {
		return nil
	}
	return d.change(ctx, secret, func(live *corev1.Secret) bool {
		if failure == nil {
			delete(live.Annotations, DrainErrorAnnotation)
			return true
		}
		live.Annotations[DrainErrorAnnotation] = failure.Error()
		return true
	})
}

// change updates the annotations of a plan Secret as it is by then.
func (d *drainer) change(ctx context.Context, secret *corev1.Secret, change func(live *corev1.Secret) bool) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live := &corev1.Secret{}
		if err := d.live.Get(ctx, client.ObjectKeyFromObject(secret), live); err != nil {
			return err
		}
		if live.Annotations == nil {
			live.Annotations = map[string]string{}
		}
		if !change(live) {
			return nil
		}
		return d.kube.Update(ctx, live)
	})
}
