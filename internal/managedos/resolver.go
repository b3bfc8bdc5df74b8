// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package managedos

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// +kubebuilder:rbac:groups=elemental.cattle.io,resources=managedosversions,verbs=get

// GroupVersionKind of a ManagedOSVersion.
// Source: elemental-operator, api/v1beta1.
var GroupVersionKind = schema.GroupVersionKind{Group: "elemental.cattle.io", Version: "v1beta1", Kind: "ManagedOSVersion"}

const (
	// container is the only type to which a host can be upgraded.
	container = "container"
	// Retry is the interval at which a failed lookup is retried. ManagedOSVersions are not watched.
	Retry = 15 * time.Second
)

// Problem is the reason and message of a condition for a ManagedOSVersion without an image for hosts.
type Problem struct{ Reason, Message string }

// Resolver looks up ManagedOSVersions.
type Resolver struct {
	// Live reads from the API server: ManagedOSVersions are not cached.
	Live client.Reader
}

// Resolve returns an osVersionManagement with the image of the ManagedOSVersion it names, in the given
// namespace. One that names none, or that has its image already, is returned unchanged. A problem has to be
// solved by a user.
func (r Resolver) Resolve(ctx context.Context, namespace string, wanted infrav1.OSVersionManagement) (infrav1.OSVersionManagement, *Problem, error) {
	name := osversion.Unresolved(wanted)
	if name == "" {
		return wanted, nil, nil
	}
	found, problem, err := r.LookUp(ctx, namespace, name)
	if err != nil || problem != nil {
		return wanted, problem, err
	}
	return osversion.Resolve(wanted, found.Image), nil, nil
}

// LookUp reads a ManagedOSVersion.
func (r Resolver) LookUp(ctx context.Context, namespace, name string) (osversion.Pin, *Problem, error) {
	version := &unstructured.Unstructured{}
	version.SetGroupVersionKind(GroupVersionKind)
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, version)
	switch {
	case meta.IsNoMatchError(err):
		return osversion.Pin{}, &Problem{infrav1.ManagedOSVersionsNotInstalledReason, fmt.Sprintf(
			"managedOSVersionName is %s, but there are no ManagedOSVersions here: install the Elemental operator, or set imageURI instead", name)}, nil
	case apierrors.IsNotFound(err):
		return osversion.Pin{}, &Problem{infrav1.ManagedOSVersionNotFoundReason, fmt.Sprintf(
			"ManagedOSVersion %s does not exist in namespace %s: create it, or name another in managedOSVersionName", name, namespace)}, nil
	case err != nil:
		return osversion.Pin{}, nil, fmt.Errorf("reading ManagedOSVersion %s: %w", name, err)
	}
	return imageOf(version)
}

func imageOf(version *unstructured.Unstructured) (osversion.Pin, *Problem, error) {
	kind, _, err := unstructured.NestedString(version.Object, "spec", "type")
	if err != nil || !strings.EqualFold(kind, container) {
		return osversion.Pin{}, &Problem{infrav1.ManagedOSVersionNotContainerReason, fmt.Sprintf(
			"ManagedOSVersion %s is of type %q, and hosts are upgraded to those of type %q only: name another in managedOSVersionName",
			version.GetName(), kind, container)}, nil
	}
	image, _, err := unstructured.NestedString(version.Object, "spec", "metadata", "upgradeImage")
	if image = strings.TrimSpace(image); err != nil || image == "" {
		return osversion.Pin{}, &Problem{infrav1.ManagedOSVersionWithoutImageReason, fmt.Sprintf(
			"ManagedOSVersion %s has no spec.metadata.upgradeImage: correct it, or name another in managedOSVersionName", version.GetName())}, nil
	}
	if _, err := imageuri.Parse(image); err != nil {
		return osversion.Pin{}, &Problem{infrav1.ManagedOSVersionWithoutImageReason, fmt.Sprintf(
			"spec.metadata.upgradeImage of ManagedOSVersion %s: %s", version.GetName(), err)}, nil
	}
	return osversion.Pin{Name: version.GetName(), Image: image}, nil, nil
}
