// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/smbios"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalregistrations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalregistrations/status,verbs=patch
// The signing key keeps its registration from being deleted before it (blockOwnerDeletion).
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalregistrations/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create

const controllerName = "elementalregistration"

// Reconciler reconciles ElementalRegistrations.
type Reconciler struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// APIReader reads Secrets, which are not cached.
	APIReader client.Reader
	// Endpoint is the base URL of the Elemental API as hosts reach it, for example
	// "https://elemental.example.com:9090". Without a scheme it is https. Empty: hosts cannot register.
	Endpoint string
	// CACert returns the PEM-encoded certificate authorities of that endpoint, which agents trust. Empty: agents
	// trust their system's.
	CACert func() (string, error)
	// Clock. Default: the real one.
	Clock clock.PassiveClock
	// WatchFilterValue is the value of the label cluster.x-k8s.io/watch-filter that ElementalRegistrations
	// have to carry. Empty: all of them.
	WatchFilterValue string
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if r.Clock == nil {
		r.Clock = clock.RealClock{}
	}
	log := mgr.GetLogger().WithValues("controller", controllerName)
	err := capicontroller.NewControllerManagedBy(mgr, log).
		Named(controllerName).
		For(&infrav1.ElementalRegistration{}, builder.WithPredicates(
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilterValue))).
		WithOptions(options).
		Complete(ctx, r)
	if err != nil {
		return fmt.Errorf("building controller %s: %w", controllerName, err)
	}
	return nil
}

// Reconcile makes one ElementalRegistration ready for hosts.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (_ ctrl.Result, reterr error) {
	registration := &infrav1.ElementalRegistration{}
	if err := r.Client.Get(ctx, request.NamespacedName, registration); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, nil, registration); err != nil || isPaused || requeue {
		return ctrl.Result{}, err
	}
	if !registration.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	helper, err := patch.NewHelper(registration, r.Client)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("preparing the patch: %w", err)
	}
	defer func() {
		if err := writeBack(ctx, helper, registration); err != nil {
			reterr = kerrors.NewAggregate([]error{reterr, err})
		}
	}()
	observeTemplates(registration)
	return r.reconcileToken(ctx, registration)
}

// observeTemplates says which labels and annotations hosts will not get. Hosts register all the same.
func observeTemplates(registration *infrav1.ElementalRegistration) {
	err := errors.Join(
		smbios.Check("spec.hostLabels", registration.Spec.HostLabels),
		smbios.Check("spec.hostAnnotations", registration.Spec.HostAnnotations))
	if err != nil {
		condition.False(registration, infrav1.HostTemplatesValidCondition, infrav1.UnknownSMBIOSFieldReason, "%s", err.Error())
		return
	}
	condition.True(registration, infrav1.HostTemplatesValidCondition)
}

// reconcileToken sees to the key, the URI and the token, and comes back when the token has to be renewed, or the key may
// have been replaced.
func (r *Reconciler) reconcileToken(ctx context.Context, registration *infrav1.ElementalRegistration) (ctrl.Result, error) {
	if r.Endpoint == "" {
		condition.False(registration, infrav1.RegistrationTokenReadyCondition, infrav1.MissingAPIEndpointReason,
			"The manager does not know where hosts reach the Elemental API: set its endpoint option (ELEMENTAL_API_ENDPOINT)")
		return ctrl.Result{}, nil
	}
	key, err := r.signingKey(ctx, registration)
	if err != nil {
		var unusable *unusableKeyError
		if errors.As(err, &unusable) {
			condition.False(registration, infrav1.RegistrationTokenReadyCondition, infrav1.SigningKeyFailedReason, "%s", unusable.Error())
			return ctrl.Result{RequeueAfter: keyRetry}, nil
		}
		return ctrl.Result{}, err
	}
	// Before the object is touched: what it has in the end is written, whatever has failed.
	authorities, err := r.CACert()
	if err != nil {
		return ctrl.Result{}, err
	}
	before := registration.DeepCopy()
	said := &registration.Spec.Config.Elemental.Registration
	said.URI = token.RegistrationURI(withScheme(r.Endpoint), registration.Namespace, registration.Name)
	said.CACert = authorities
	renewIn, err := r.renewToken(said, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !equality.Semantic.DeepEqual(before.Spec, registration.Spec) {
		// Ready follows when the cache has seen the token: hosts that wait for Ready find it in spec.
		return ctrl.Result{}, r.writeSpec(ctx, before, registration)
	}
	condition.True(registration, infrav1.RegistrationTokenReadyCondition)
	return ctrl.Result{RequeueAfter: min(renewIn, keyInterval)}, nil
}

// writeSpec writes the token and what goes with it. The object in hand keeps its former spec, so that what
// is written afterwards is conditions alone.
func (r *Reconciler) writeSpec(ctx context.Context, before, after *infrav1.ElementalRegistration) error {
	ctrl.LoggerFrom(ctx).Info("Writing the registration's address and a new token")
	written := after.DeepCopy()
	before.Spec.DeepCopyInto(&after.Spec)
	if err := r.Client.Patch(ctx, written, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing spec of ElementalRegistration %s: %w", before.Name, err)
	}
	return nil
}

// withScheme completes an endpoint that was given as host and port.
func withScheme(endpoint string) string {
	if strings.Contains(endpoint, "://") {
		return endpoint
	}
	return "https://" + endpoint
}

func writeBack(ctx context.Context, helper *patch.Helper, registration *infrav1.ElementalRegistration) error {
	summarized := conditions.ForConditionTypes{infrav1.RegistrationTokenReadyCondition, infrav1.HostTemplatesValidCondition}
	if err := condition.Summarize(registration, summarized, nil, nil); err != nil {
		return err
	}
	owned := append([]string{clusterv1.ReadyCondition, clusterv1.PausedCondition}, summarized...)
	if err := helper.Patch(ctx, registration, patch.WithOwnedConditions{Conditions: owned}); err != nil {
		return fmt.Errorf("writing ElementalRegistration %s: %w", registration.Name, err)
	}
	return nil
}

// Secrets are not watched.
const (
	// keyRetry is how soon it is looked again for a key that is missing or no key. An error would be tried again ever more
	// rarely, after up to 17 minutes.
	keyRetry = 5 * time.Second
	// keyInterval is how often it is looked whether a token is still of the key. "clusterctl move" brings the key after the
	// registration, which has made one by then.
	keyInterval = time.Minute
)

// minRenewal keeps a very short tokenDuration from making the controller busy.
const minRenewal = time.Second
