// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubevirt-manifests prints what KubeVirt's operator installs, from the operator's own generators: CRDs, roles,
// webhooks, the aggregated API and the DaemonSet virt-handler. virt-api and virt-controller are left out: the lab runs
// them as processes.
//
// Documents are separated as in any YAML stream, in an order in which they can be created.
package main

import (
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
	"sigs.k8s.io/yaml"
)

// namespace of KubeVirt.
const namespace = "kubevirt"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kubevirt-manifests:", err)
		os.Exit(1)
	}
}

func run() error {
	objects, err := crds()
	if err != nil {
		return err
	}
	objects = append(objects, &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
	})
	objects = append(objects, roles()...)
	objects = append(objects,
		components.NewKubeVirtPriorityClassCR(),
		handler(),
		components.NewVirtAPIValidatingWebhookConfiguration(namespace),
		components.NewVirtAPIMutatingWebhookConfiguration(namespace),
	)
	for _, service := range components.NewVirtAPIAPIServices(namespace) {
		objects = append(objects, service)
	}
	return printAll(objects)
}

func crds() ([]any, error) {
	objects := []any{}
	for _, generate := range []func() (*apiextensionsv1.CustomResourceDefinition, error){
		components.NewKubeVirtCrd,
		components.NewVirtualMachineCrd,
		components.NewVirtualMachineInstanceCrd,
		components.NewVirtualMachineInstanceMigrationCrd,
		components.NewMigrationPolicyCrd,
		components.NewPresetCrd,
		components.NewReplicaSetCrd,
		components.NewVirtualMachinePoolCrd,
		components.NewVirtualMachineInstancetypeCrd,
		components.NewVirtualMachineClusterInstancetypeCrd,
		components.NewVirtualMachinePreferenceCrd,
		components.NewVirtualMachineClusterPreferenceCrd,
		components.NewVirtualMachineSnapshotCrd,
		components.NewVirtualMachineSnapshotContentCrd,
		components.NewVirtualMachineRestoreCrd,
		components.NewVirtualMachineExportCrd,
		components.NewVirtualMachineCloneCrd,
	} {
		crd, err := generate()
		if err != nil {
			return nil, fmt.Errorf("generating the CRDs: %w", err)
		}
		objects = append(objects, crd)
	}
	return objects, nil
}

// roles are those of virt-api, virt-controller and virt-handler, with their ServiceAccounts and bindings.
func roles() []any {
	objects := []any{}
	for _, object := range rbac.GetAllCluster() {
		objects = append(objects, object)
	}
	for _, object := range rbac.GetAllApiServer(namespace) {
		objects = append(objects, object)
	}
	for _, object := range rbac.GetAllController(namespace) {
		objects = append(objects, object)
	}
	for _, object := range rbac.GetAllHandler(namespace) {
		objects = append(objects, object)
	}
	return objects
}

func printAll(objects []any) error {
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("encoding %T: %w", object, err)
		}
		if _, err := fmt.Printf("---\n%s", document); err != nil {
			return err
		}
	}
	return nil
}
