// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/util/conditions"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/mergepatch"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/smbios"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalregistrations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalregistrations/status,verbs=patch
// The Secrets keep their registration from being deleted before them (blockOwnerDeletion).
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalregistrations/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch

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
	// CACert returns the PEM-encoded certificate authorities of that endpoint, which hosts trust unless spec has others. Empty:
	// hosts trust their system's.
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
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
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
	before := registration.DeepCopy()
	observeTemplates(registration)
	result, err := r.reconcileToken(ctx, registration)
	if err := errors.Join(err, r.writeStatus(ctx, before, registration)); err != nil {
		return ctrl.Result{}, err
	}
	if registration.Status.TokenSecretName == "" || !equality.Semantic.DeepEqual(before.Status, registration.Status) {
		return result, nil
	}
	// Not before the cache has the status: between two writes hosts would be configured with neither.
	if err := r.removeStored(ctx, registration); err != nil {
		return ctrl.Result{}, err
	}
	return result, nil
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

// reconcileToken sees to the address, the key and the token, and comes back when the token has to be renewed, or a Secret
// may have been replaced.
func (r *Reconciler) reconcileToken(ctx context.Context, registration *infrav1.ElementalRegistration) (ctrl.Result, error) {
	if r.Endpoint == "" {
		condition.False(registration, infrav1.RegistrationTokenReadyCondition, infrav1.MissingAPIEndpointReason,
			"The manager does not know where hosts reach the Elemental API: set its endpoint option (ELEMENTAL_API_ENDPOINT)")
		return ctrl.Result{}, nil
	}
	uri, caCert, err := r.address(registration)
	if err != nil {
		return ctrl.Result{}, err
	}
	kept, err := r.keepToken(ctx, registration, uri)
	var unusable *unusableSecretError
	if err != nil && !errors.As(err, &unusable) {
		return ctrl.Result{}, err
	}
	// All in one write, and none after an error: an address and a token of another one do not fit together.
	status := &registration.Status
	status.URI, status.CACert, status.TokenSecretName, status.TokenExpirationTime = uri, caCert, kept.secretName, metav1.NewTime(kept.expires)
	if unusable != nil {
		condition.False(registration, infrav1.RegistrationTokenReadyCondition, unusable.reason, "%s", unusable.message)
		return ctrl.Result{RequeueAfter: secretRetry}, nil
	}
	condition.True(registration, infrav1.RegistrationTokenReadyCondition)
	return ctrl.Result{RequeueAfter: min(kept.renewIn, secretInterval)}, nil
}

// writeStatus writes the status in one request: hosts that wait for Ready find the address and the token's Secret in it.
// Nobody else writes it.
func (r *Reconciler) writeStatus(ctx context.Context, before, registration *infrav1.ElementalRegistration) error {
	summarized := conditions.ForConditionTypes{infrav1.RegistrationTokenReadyCondition, infrav1.HostTemplatesValidCondition}
	if err := condition.Summarize(registration, condition.DefaultReason, summarized, nil, nil); err != nil {
		return err
	}
	if err := mergepatch.Store(ctx, r.Client, before, registration); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing status of ElementalRegistration %s: %w", registration.Name, err)
	}
	return nil
}

// Secrets are not watched.
const (
	// secretRetry is how soon it is looked again for a Secret that is missing or of no use. An error would be tried again ever
	// more rarely, after up to 17 minutes.
	secretRetry = 5 * time.Second
	// secretInterval is how often it is looked whether the token is there, and still of the key. "clusterctl move" brings both
	// Secrets after the registration, which has made its own by then.
	secretInterval = time.Minute
)

// minRenewal keeps a very short tokenDuration from making the controller busy.
const minRenewal = time.Second
