// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	_ "embed"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

// controlPlaneStandIn is the CRD that stands in for an externally managed control plane, such as that of
// the workload cluster: Cluster API drains nodes only for a cluster that has a control plane. A
// ClusterClass creates it from a template.
//
//go:embed labcontrolplane.yaml
var controlPlaneStandIn []byte

// controlPlaneKind is the kind of the stand-in.
func controlPlaneKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta1", Kind: "LabControlPlane"}
}

// InWorkload is a lab whose management cluster is its workload cluster, too, as after "clusterctl move" into it. Only l is to be stopped.
func (l *Lab) InWorkload(ctx context.Context) (*Lab, error) {
	inside := &Lab{
		options: l.options, began: l.began, Management: l.Workload, Workload: l.Workload, Kube: l.WorkloadKube, WorkloadKube: l.WorkloadKube,
		Registry: l.Registry, hosts: l.hosts,
	}
	return inside, inside.installControlPlaneStandIn(ctx)
}

func (l *Lab) installControlPlaneStandIn(ctx context.Context) error {
	crds, err := capi.Parse(controlPlaneStandIn)
	if err != nil {
		return fmt.Errorf("reading the CRD of the control plane stand-in: %w", err)
	}
	if err := crds.Create(ctx, l.Kube); err != nil {
		return err
	}
	return capi.AwaitEstablished(ctx, l.Kube, crds)
}

// InitializeControlPlane sets the status of a LabControlPlane to initialized, as its provider would.
func (l *Lab) InitializeControlPlane(ctx context.Context, namespace, name string) error {
	plane, err := l.ControlPlaneStandIn(ctx, namespace, name)
	if err != nil {
		return err
	}
	base := plane.DeepCopy() // Cluster API sets the owner reference concurrently
	status := map[string]any{
		"externalManagedControlPlane": true,
		"initialization":              map[string]any{"controlPlaneInitialized": true},
	}
	if version, found, _ := unstructured.NestedString(plane.Object, "spec", "version"); found {
		status["version"] = version // a topology creates workers only once its control plane reports a version
	}
	plane.Object["status"] = status
	if err := l.Kube.Status().Patch(ctx, plane, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("initializing LabControlPlane %s: %w", name, err)
	}
	return nil
}

// ControlPlaneVersion is the desired version of a LabControlPlane; empty if it has none.
func (l *Lab) ControlPlaneVersion(ctx context.Context, namespace, name string) (string, error) {
	plane, err := l.ControlPlaneStandIn(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	version, _, err := unstructured.NestedString(plane.Object, "spec", "version")
	if err != nil {
		return "", fmt.Errorf("reading the version of LabControlPlane %s: %w", name, err)
	}
	return version, nil
}

// ControlPlaneStandIn is a LabControlPlane.
func (l *Lab) ControlPlaneStandIn(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	plane := &unstructured.Unstructured{}
	plane.SetGroupVersionKind(controlPlaneKind())
	plane.SetNamespace(namespace)
	plane.SetName(name)
	if err := l.Kube.Get(ctx, keyOf(plane), plane); err != nil {
		return nil, fmt.Errorf("reading LabControlPlane %s: %w", name, err)
	}
	return plane, nil
}
