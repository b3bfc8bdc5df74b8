// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/deniedkey"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

// denyKey is the last that the deletion of a host waits for: that its registration denies its key. Without it the host would
// register again as soon as it is told that it is not known. One that has said that it was wiped has thrown its key away, and
// one that nobody has ever trusted had nothing to lose: anybody who can register could fill the list with such.
func (r *Reconciler) denyKey(ctx context.Context, host *infrav1.ElementalHost) (deletionWait, error) {
	if hoststate.WasReset(host) {
		return deletionWait{}, nil
	}
	entry, usable := r.deniedKey(host)
	if !usable {
		return deletionWait{}, nil
	}
	key := client.ObjectKey{Namespace: host.Namespace, Name: host.Annotations[infrav1.RegistrationNameAnnotation]}
	registration := &infrav1.ElementalRegistration{}
	err := r.APIReader.Get(ctx, key, registration)
	switch {
	case apierrors.IsNotFound(err):
		// Nobody can register through it. Deleted with its namespace, it does not hold that one.
		return deletionWait{}, nil
	case err != nil:
		return deletionWait{}, fmt.Errorf("reading ElementalRegistration %s: %w", key.Name, err)
	case !registration.DeletionTimestamp.IsZero(), !trusted(host, registration), deniedkey.Find(registration, host.Spec.PubKey) != nil:
		return deletionWait{}, nil
	}
	before := registration.DeepCopy()
	if !deniedkey.Add(registration, entry) {
		return deletionWait{
			waits: fmt.Sprintf("ElementalRegistration %s denies %d keys and has no room for the host's: take some off its spec.deniedKeys",
				registration.Name, infrav1.MaxDeniedKeys),
			after: pollMachine, reason: infrav1.DeniedKeysFullReason,
		}, nil
	}
	if err := r.Client.Patch(ctx, registration, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return deletionWait{}, fmt.Errorf("writing spec.deniedKeys of ElementalRegistration %s: %w", registration.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Denied the key of a deleted host", "ElementalHost", klog.KObj(host), "ElementalRegistration", klog.KObj(registration))
	r.announceDenied(host, registration, entry)
	return deletionWait{}, nil
}

// deniedKey is the entry for a host. A host that came through no registration, or has no key, cannot register again with it.
func (r *Reconciler) deniedKey(host *infrav1.ElementalHost) (entry infrav1.DeniedKey, usable bool) {
	_, err := token.ParsePublicKey(host.Spec.PubKey)
	if err != nil || host.Annotations[infrav1.RegistrationNameAnnotation] == "" {
		return infrav1.DeniedKey{}, false
	}
	entry = infrav1.DeniedKey{PubKey: host.Spec.PubKey, Host: host.Name, Since: metav1.NewTime(r.Clock.Now())}
	// Deleting the ElementalHost asks for no reset: what serves no machine here may do so in another management cluster.
	if hoststate.HasLabel(host, infrav1.NeedsResetLabel) || isLeaving(host) {
		entry.Reset = infrav1.DeniedKeyResetPending
	}
	return entry, true
}

// trusted reports whether a person has approved the host, or it was entrusted with anything. Where the registration approves
// all hosts, that one is approved says only that it had the registration's token.
func trusted(host *infrav1.ElementalHost, registration *infrav1.ElementalRegistration) bool {
	approved := host.Spec.Approved && registration.Spec.Approval != infrav1.ApprovalAuto
	return approved || hoststate.Entrusted(host)
}

// isLeaving reports whether the host has said that it resets itself, and not yet that it has. The word of one that is neither
// approved nor entrusted with anything is not waited for.
func isLeaving(host *infrav1.ElementalHost) bool {
	return host.Status.Phase == infrav1.HostPhaseResetting && (host.Spec.Approved || hoststate.Entrusted(host))
}

func (r *Reconciler) announceDenied(host *infrav1.ElementalHost, registration *infrav1.ElementalRegistration, entry infrav1.DeniedKey) {
	if entry.Reset == infrav1.DeniedKeyResetPending {
		r.Recorder.Eventf(host, registration, corev1.EventTypeWarning, infrav1.EventHostKeyDenied, "Delete",
			"The host has not said that it has been wiped. Its key is denied, and it is told to reset itself whenever it asks; "+
				"to let it register again, take it off spec.deniedKeys of ElementalRegistration %s", registration.Name)
		return
	}
	r.Recorder.Eventf(host, registration, corev1.EventTypeNormal, infrav1.EventHostKeyDenied, "Delete",
		"The key of the host is denied; to let it register again, take it off spec.deniedKeys of ElementalRegistration %s", registration.Name)
}
