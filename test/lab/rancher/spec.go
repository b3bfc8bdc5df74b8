// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	rkeGroup   = "rke.cattle.io"
	apiVersion = "v1"
)

// Kinds of Rancher.
var (
	ClusterKind           = schema.GroupVersionKind{Group: "provisioning.cattle.io", Version: apiVersion, Kind: "Cluster"}
	ControlPlaneKind      = schema.GroupVersionKind{Group: rkeGroup, Version: apiVersion, Kind: "RKEControlPlane"}
	BootstrapKind         = schema.GroupVersionKind{Group: rkeGroup, Version: apiVersion, Kind: "RKEBootstrap"}
	BootstrapTemplateKind = schema.GroupVersionKind{Group: rkeGroup, Version: apiVersion, Kind: "RKEBootstrapTemplate"}
)

// ClusterSpec is the part of the spec of a cluster that is played.
type ClusterSpec struct {
	KubernetesVersion string    `json:"kubernetesVersion,omitempty"`
	RKEConfig         RKEConfig `json:"rkeConfig"`
}

// RKEConfig of a cluster.
type RKEConfig struct {
	// ProvisionGeneration rolls all nodes when it changes.
	ProvisionGeneration int64                   `json:"provisionGeneration,omitempty"`
	UpgradeStrategy     UpgradeStrategy         `json:"upgradeStrategy"`
	InfrastructureRef   *corev1.ObjectReference `json:"infrastructureRef,omitempty"`
	MachinePools        []MachinePool           `json:"machinePools,omitempty"`
}

// MachinePool becomes a MachineDeployment of the name of the cluster and its own.
type MachinePool struct {
	Name             string                  `json:"name"`
	Quantity         int64                   `json:"quantity"`
	EtcdRole         bool                    `json:"etcdRole,omitempty"`
	ControlPlaneRole bool                    `json:"controlPlaneRole,omitempty"`
	WorkerRole       bool                    `json:"workerRole,omitempty"`
	MachineConfigRef *corev1.ObjectReference `json:"machineConfigRef"`
	// DrainBeforeDelete lets Cluster API drain the node of a Machine that is deleted.
	DrainBeforeDelete bool `json:"drainBeforeDelete,omitempty"`
}

// planeSpec is the part of the spec of an RKEControlPlane that is played.
type planeSpec struct {
	ClusterName         string          `json:"clusterName"`
	KubernetesVersion   string          `json:"kubernetesVersion,omitempty"`
	ProvisionGeneration int64           `json:"provisionGeneration,omitempty"`
	UpgradeStrategy     UpgradeStrategy `json:"upgradeStrategy"`
}

// NewCluster is a cluster to create.
func NewCluster(namespace, name string, spec ClusterSpec) (*unstructured.Unstructured, error) {
	cluster := newObject(ClusterKind, namespace, name)
	return cluster, setSpec(cluster, spec)
}

func newObject(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func setSpec[T any](object *unstructured.Unstructured, spec T) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return fmt.Errorf("encoding the spec of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	object.Object["spec"] = content
	return nil
}

func specOf[T any](object *unstructured.Unstructured) (spec T, err error) {
	content, _, err := unstructured.NestedMap(object.Object, "spec")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &spec)
	}
	if err != nil {
		err = fmt.Errorf("reading the spec of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return spec, err
}
