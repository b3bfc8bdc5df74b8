// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/deniedkey"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagerules"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/smbios"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// getRegistration returns a host's configuration. A registration whose status its controller has yet to write, such as one that
// clusterctl has just moved, has no address that its hosts could keep.
func (s *Server) getRegistration(r *http.Request) (reply, error) {
	registration, err := s.authenticateRegistration(r)
	if err != nil {
		return reply{}, err
	}
	if registration.Status.URI == "" {
		return reply{}, refuseForNow(fmt.Sprintf("ElementalRegistration %s/%s has no address yet", registration.Namespace, registration.Name))
	}
	rules, err := s.roots.Complete(r.Context(), registration.Namespace, imagerules.Convert(registration.Spec.ImageVerification))
	if err != nil {
		return reply{}, err
	}
	config, err := json.Marshal(handedOut(registration))
	if err != nil {
		return reply{}, fmt.Errorf("encoding config of ElementalRegistration %s/%s: %w", registration.Namespace, registration.Name, err)
	}
	return reply{status: http.StatusOK, body: wire.Registration{
		HostLabels:        registration.Spec.HostLabels,
		HostAnnotations:   registration.Spec.HostAnnotations,
		ImageVerification: rules,
		Config:            config,
	}}, nil
}

// handedOut is the configuration of the hosts, with the address that is in effect. It has no token: who asks has presented one.
func handedOut(registration *infrav1.ElementalRegistration) infrav1.RegistrationConfig {
	config := registration.Spec.Config
	said := &config.Elemental.Registration
	said.URI = cmp.Or(said.URI, registration.Status.URI)
	said.CACert = cmp.Or(said.CACert, registration.Status.CACert)
	said.Token = ""
	return config
}

// createHost registers a host. That costs one write, and, after the quotas, one read of the denied keys: only if the name is taken the host
// is read, to distinguish a repeated request from a second host.
func (s *Server) createHost(r *http.Request) (reply, error) {
	registration, err := s.authenticateRegistration(r)
	if err != nil {
		return reply{}, err
	}
	asked := wire.HostCreate{}
	if err := decodeBody(r, &asked, decodeStrict); err != nil {
		return reply{}, err
	}
	key, err := checkCreate(asked)
	if err != nil {
		return reply{}, err
	}
	if err := s.proveKey(r, asked.Name, key); err != nil {
		return reply{}, err
	}
	if asked.PubKey, err = token.EncodePublicKey(key); err != nil {
		return reply{}, fmt.Errorf("normalizing key of host %s: %w", asked.Name, err)
	}
	if denied := deniedkey.Find(registration, asked.PubKey); denied != nil {
		return reply{}, refuseDenied(denied, registration.Name)
	}
	if err := s.admit(r, registration, newHost(registration, asked)); err != nil {
		return reply{}, err
	}
	location := token.RegistrationPath(registration.Namespace, registration.Name) + "/hosts/" + asked.Name
	return reply{status: http.StatusCreated, location: location}, nil
}

// newHost returns a host as it is registered. The labels of the registration take precedence over those that the host proposes, because
// selectors rely on them. Labels that the registration fills with SMBIOS data count as the registration's.
func newHost(registration *infrav1.ElementalRegistration, asked wire.HostCreate) *infrav1.ElementalHost {
	set := smbios.FillLabels(registration.Spec.HostLabels, asked.SMBIOS)
	labels := merge(asked.Labels, set)
	if filter, found := registration.Labels[clusterv1.WatchLabel]; found && labels[clusterv1.WatchLabel] == "" {
		// Otherwise no manager with a watch filter would ever remove the finalizer.
		labels[clusterv1.WatchLabel] = filter
	}
	annotations := merge(asked.Annotations, smbios.FillAnnotations(registration.Spec.HostAnnotations, asked.SMBIOS))
	annotations[infrav1.RegistrationNameAnnotation] = registration.Name
	annotations[infrav1.RegistrationNamespaceAnnotation] = registration.Namespace
	if proposed := proposedLabels(set, asked); proposed != "" {
		annotations[infrav1.ProposedLabelsAnnotation] = proposed
	}
	return &infrav1.ElementalHost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: registration.Namespace, Name: asked.Name, Labels: labels, Annotations: annotations,
			// Set at creation: the key is denied whenever the ElementalHost is deleted.
			Finalizers: []string{infrav1.ElementalMachineFinalizer},
		},
		Spec: infrav1.ElementalHostSpec{
			PubKey:   asked.PubKey,
			Approved: registration.Spec.Approval == infrav1.ApprovalAuto,
			// Never proposed by the host.
			ImageVerification: registration.Spec.ImageVerification.DeepCopy(),
		},
	}
}

// proposedLabels lists the labels that only the host itself has proposed.
func proposedLabels(set map[string]string, asked wire.HostCreate) string {
	proposed := slices.Sorted(maps.Keys(asked.Labels))
	return strings.Join(slices.DeleteFunc(proposed, func(key string) bool {
		_, vouched := set[key]
		return vouched
	}), ",")
}

func merge(under, over map[string]string) map[string]string {
	merged := make(map[string]string, len(under)+len(over))
	maps.Copy(merged, under)
	maps.Copy(merged, over)
	return merged
}

// admit creates a host if the registration's quotas permit. A repeated registration is not counted again.
func (s *Server) admit(r *http.Request, registration *infrav1.ElementalRegistration, host *infrav1.ElementalHost) error {
	known, err := s.hosts.fromCache(r.Context(), client.ObjectKeyFromObject(host))
	if err == nil && token.SameKey(known.Spec.PubKey, host.Spec.PubKey) {
		if err := s.quota.admitRepeat(known); err != nil {
			return err
		}
		return s.checkSame(r, host)
	}
	share, done, err := s.admissions.begin(r.Context(), cameThrough(host))
	if err != nil {
		return fmt.Errorf("registering host %s: %w", host.Name, err)
	}
	defer done()
	// From here on the host is created even if its agent stops waiting for the response. Otherwise each request that times out
	// would use up one of the registrations that the quota permits, and create nothing.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeTimeout)
	defer cancel()
	err = s.admitNew(r.WithContext(ctx), share, registration, host)
	if r.Context().Err() != nil && err != nil && asFailure(err).answer.Code >= http.StatusInternalServerError {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to register a host whose agent has stopped waiting", "ElementalHost", klog.KObj(host))
	}
	return err
}

func (s *Server) admitNew(r *http.Request, of *share, registration *infrav1.ElementalRegistration, host *infrav1.ElementalHost) error {
	// First, because hosts that wait for a place retry again and again, and must not use up the quota of others.
	if err := s.takePlace(r.Context(), of, registration, host); err != nil {
		return err
	}
	err := s.quota.admitHost(host)
	if err == nil {
		err = s.checkNotDenied(r.Context(), registration, host.Spec.PubKey)
	}
	if err == nil {
		err = s.createOnce(r, host)
	}
	if err != nil {
		s.places.leave(host)
		return err
	}
	return s.quota.owe(host)
}

// takePlace counts and takes under one lock of the registration, or more hosts would enter than it has places for.
func (s *Server) takePlace(ctx context.Context, of *share, registration *infrav1.ElementalRegistration, host *infrav1.ElementalHost) error {
	of.counting.Lock()
	defer of.counting.Unlock()
	return s.places.enter(ctx, registration, host)
}

// createOnce creates a host, or finds it created already with the same key and registration.
func (s *Server) createOnce(r *http.Request, host *infrav1.ElementalHost) error {
	err := s.client.Create(r.Context(), host)
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err):
		return s.checkSame(r, host)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return refuse(http.StatusBadRequest, "host %s was refused: %s", host.Name, shorten(err.Error(), maxMessage))
	default:
		return fmt.Errorf("creating ElementalHost %s/%s: %w", host.Namespace, host.Name, err)
	}
}

func (s *Server) checkSame(r *http.Request, host *infrav1.ElementalHost) error {
	found := &infrav1.ElementalHost{}
	err := s.live.Get(r.Context(), client.ObjectKeyFromObject(host), found)
	if apierrors.IsNotFound(err) {
		return refuseForNow("host " + host.Name + " has just been deleted")
	}
	if err != nil {
		return fmt.Errorf("reading ElementalHost %s/%s: %w", host.Namespace, host.Name, err)
	}
	switch {
	case !token.SameKey(found.Spec.PubKey, host.Spec.PubKey):
		s.tellNameTaken(r, found, host.Spec.PubKey)
		return refuse(http.StatusConflict, "the name %s is taken by a host with another key: choose another name", host.Name)
	case found.Annotations[infrav1.RegistrationNameAnnotation] != host.Annotations[infrav1.RegistrationNameAnnotation]:
		return refuse(http.StatusConflict, "host %s is registered through registration %q", host.Name, found.Annotations[infrav1.RegistrationNameAnnotation])
	case !found.DeletionTimestamp.IsZero():
		return refuse(http.StatusConflict, "host %s is being deleted: register again when it is gone", host.Name)
	}
	return nil
}
