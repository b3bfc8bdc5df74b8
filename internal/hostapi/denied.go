// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/deniedkey"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// deniedPatience bounds how long a request of a host with a denied key stays pending: it has no ElementalHost whose events could wake it.
const deniedPatience = time.Minute

// findDenied returns the denied key that signed a host token for the path's host, or nil.
func (s *Server) findDenied(r *http.Request, raw string, uris token.Audience) *infrav1.DeniedKey {
	registration, err := s.registrations.get(r.Context(), registrationOf(r))
	if err != nil {
		return nil
	}
	name := hostOf(r).Name
	for i := range registration.Spec.DeniedKeys {
		denied := &registration.Spec.DeniedKeys[i]
		if denied.Host != name {
			continue
		}
		key, err := token.ParsePublicKey(denied.PubKey)
		if err == nil && token.VerifyHostToken(raw, key, name, uris, s.clock.Now()) == nil {
			return denied.DeepCopy()
		}
	}
	return nil
}

func refuseDenied(denied *infrav1.DeniedKey, registration string) *failure {
	return refuse(http.StatusForbidden,
		"the key of host %s is denied since its ElementalHost was deleted: to let it in, take it off spec.deniedKeys of ElementalRegistration %s",
		denied.Host, registration)
}

// checkNotDenied reads the registration live: a host whose ElementalHost was just deleted may register again before the cache shows that its
// key is denied. It is called after the quotas, since nothing else bounds these reads.
func (s *Server) checkNotDenied(ctx context.Context, cached *infrav1.ElementalRegistration, pubKey string) error {
	registration := &infrav1.ElementalRegistration{}
	key := client.ObjectKeyFromObject(cached)
	if err := s.live.Get(ctx, key, registration); err != nil {
		return fmt.Errorf("reading ElementalRegistration %s: %w", key, err)
	}
	if denied := deniedkey.Find(registration, pubKey); denied != nil {
		return refuseDenied(denied, registration.Name)
	}
	return nil
}

// desiredOfDenied returns a desired state that only requests a reset.
func (s *Server) desiredOfDenied(r *http.Request, denied *infrav1.DeniedKey, patience time.Duration) (reply, error) {
	registration := registrationOf(r)
	if denied.Reset != infrav1.DeniedKeyResetPending {
		return reply{}, refuseDenied(denied, registration.Name)
	}
	desired := wire.Desired{Reset: true}
	desired.Revision = revisionOf(desired)
	if patience == 0 || r.URL.Query().Get("revision") != desired.Revision {
		return reply{status: http.StatusOK, body: desired}, nil
	}
	// No object can have this name, so these requests are not counted with those of a host that now has the former name.
	waiting := &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: registration.Namespace, Name: "denied/" + denied.Host}}
	return reply{later: &poll{
		key: client.ObjectKeyFromObject(waiting), waiter: s.hub.enter(waiting, &desired), patience: min(patience, deniedPatience),
	}}, nil
}

// reportOfDenied logs a report, since there is no object to store it in.
func reportOfDenied(r *http.Request, denied *infrav1.DeniedKey, status infrav1.ElementalHostStatus) (reply, error) {
	registration := registrationOf(r)
	if denied.Reset != infrav1.DeniedKeyResetPending {
		return reply{}, refuseDenied(denied, registration.Name)
	}
	ctrl.LoggerFrom(r.Context()).V(2).Info("A host whose key is denied has reported", "ElementalRegistration", registration,
		"host", denied.Host, "phase", status.Phase, "message", status.Message)
	return reply{status: http.StatusNoContent}, nil
}

// recordWiped ends the reset of a host whose key is denied. The key stays denied.
func (s *Server) recordWiped(ctx context.Context, name types.NamespacedName, denied *infrav1.DeniedKey) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		registration := &infrav1.ElementalRegistration{}
		if err := s.live.Get(ctx, name, registration); err != nil {
			return client.IgnoreNotFound(err)
		}
		before := registration.DeepCopy()
		entry := deniedkey.Find(registration, denied.PubKey)
		if entry == nil || entry.Reset != infrav1.DeniedKeyResetPending {
			return nil
		}
		entry.Reset = infrav1.DeniedKeyResetDone
		return s.client.Patch(ctx, registration, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if apierrors.IsConflict(err) {
		return refuseForNow("registration " + name.Name + " is being changed")
	}
	if err != nil {
		return fmt.Errorf("writing spec.deniedKeys of ElementalRegistration %s: %w", name, err)
	}
	return nil
}
