// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Our kinds in requests of hooks.
const (
	elementalMachineKind         = "ElementalMachine"
	elementalMachineTemplateKind = "ElementalMachineTemplate"
)

// change is the change in a CanUpdate request. It is empty if no Elemental kind is involved.
type change struct {
	// patch covers the changes that are made in place, and bootstrapPatch those of the bootstrap object that change nothing.
	patch, bootstrapPatch runtimehooksv1.Patch
	// bootstrap is the bootstrap object or template, whose fields are compared below root.
	bootstrap pair
	root      []string
	// uncovered are the fields that differ after the patch, as "Kind path".
	uncovered []string
	// namespace of all objects.
	namespace string
	// cluster is the Cluster of the Machines.
	cluster string
	// fromTemplate and toTemplate are the infrastructure templates before and after.
	fromTemplate, toTemplate string
	// machineDeployment or machine is the object that changes.
	machineDeployment, machine string
}

func changeOfMachineSet(req *runtimehooksv1.CanUpdateMachineSetRequest) (*change, error) {
	current, desired := &req.Current, &req.Desired
	infrastructure, err := decodePair("infrastructureMachineTemplate", current.InfrastructureMachineTemplate, desired.InfrastructureMachineTemplate)
	if err != nil {
		return nil, err
	}
	if !infrastructure.involves(elementalMachineTemplateKind) {
		return &change{}, nil
	}
	bootstrap, err := decodeOptionalPair("bootstrapConfigTemplate", current.BootstrapConfigTemplate, desired.BootstrapConfigTemplate)
	if err != nil {
		return nil, err
	}
	machines, err := machineSpecs(current.MachineSet.Spec.Template.Spec, desired.MachineSet.Spec.Template.Spec)
	if err != nil {
		return nil, err
	}
	c := &change{
		namespace:         desired.MachineSet.Namespace,
		cluster:           desired.MachineSet.Spec.ClusterName,
		machineDeployment: desired.MachineSet.Labels[clusterv1.MachineDeploymentNameLabel],
		fromTemplate:      infrastructure.current.text("metadata", "name"),
		toTemplate:        infrastructure.desired.text("metadata", "name"),
	}
	for _, path := range differences("spec.template.spec", machines.current.at(objectSpec...), machines.desired.at(objectSpec...)) {
		c.uncovered = append(c.uncovered, "MachineSet "+path)
	}
	return c, c.compare(infrastructure, bootstrap, templateSpec)
}

func changeOfMachine(req *runtimehooksv1.CanUpdateMachineRequest) (*change, error) {
	current, desired := &req.Current, &req.Desired
	infrastructure, err := decodePair("infrastructureMachine", current.InfrastructureMachine, desired.InfrastructureMachine)
	if err != nil {
		return nil, err
	}
	if !infrastructure.involves(elementalMachineKind) {
		return &change{}, nil
	}
	bootstrap, err := decodeOptionalPair("bootstrapConfig", current.BootstrapConfig, desired.BootstrapConfig)
	if err != nil {
		return nil, err
	}
	machines, err := machineSpecs(current.Machine.Spec, desired.Machine.Spec)
	if err != nil {
		return nil, err
	}
	c := &change{
		namespace:    current.Machine.Namespace,
		cluster:      current.Machine.Spec.ClusterName,
		machine:      current.Machine.Name,
		fromTemplate: infrastructure.current.text("metadata", "annotations", clusterv1.TemplateClonedFromNameAnnotation),
		toTemplate:   infrastructure.desired.text("metadata", "annotations", clusterv1.TemplateClonedFromNameAnnotation),
	}
	for _, path := range differences("spec", machines.current.at(objectSpec...), machines.desired.at(objectSpec...)) {
		c.uncovered = append(c.uncovered, "Machine "+path)
	}
	return c, c.compare(infrastructure, bootstrap, objectSpec)
}

// compare covers the supported changes of the infrastructure and lists its other differences.
func (c *change) compare(infrastructure, bootstrap pair, root []string) error {
	operations, uncovered := cover(infrastructure.current, infrastructure.desired, root)
	if before, after := infrastructure.current.text("kind"), infrastructure.desired.text("kind"); before != after {
		c.uncovered = append(c.uncovered, fmt.Sprintf("infrastructure kind (%s to %s)", before, after))
		operations = nil
	}
	for _, path := range uncovered {
		c.uncovered = append(c.uncovered, infrastructure.desired.text("kind")+" "+path)
	}
	patch, err := asPatch(operations)
	c.patch, c.bootstrap, c.root = patch, bootstrap, root
	return err
}

// compareBootstrap lists the differences of the bootstrap object: none of them can be changed in place.
func (c *change) compareBootstrap() {
	for _, path := range differences(strings.Join(c.root, "."), c.bootstrap.current.at(c.root...), c.bootstrap.desired.at(c.root...)) {
		c.uncovered = append(c.uncovered, c.bootstrap.kind()+" "+path)
	}
}

// pair is an object before and after.
type pair struct{ current, desired document }

func decodePair(what string, current, desired runtime.RawExtension) (pair, error) {
	before, err := decodeDocument("current."+what, current)
	if err != nil {
		return pair{}, err
	}
	after, err := decodeDocument("desired."+what, desired)
	if err != nil {
		return pair{}, err
	}
	return pair{before, after}, nil
}

// decodeOptionalPair: a Machine whose bootstrap data was created by hand has no bootstrap object.
func decodeOptionalPair(what string, current, desired runtime.RawExtension) (pair, error) {
	if len(current.Raw) == 0 && len(desired.Raw) == 0 {
		return pair{}, nil
	}
	return decodePair(what, current, desired)
}

func (p pair) involves(kind string) bool {
	return isElemental(p.current, kind) || isElemental(p.desired, kind)
}

func (p pair) kind() string {
	if kind := p.desired.text("kind"); kind != "" {
		return kind
	}
	return "bootstrap object"
}

func isElemental(object document, kind string) bool {
	group, _, _ := strings.Cut(object.text("apiVersion"), "/")
	return group == infrav1.GroupVersion.Group && object.text("kind") == kind
}

// machineSpecs leaves out of two Machine specs what Cluster API leaves out when it compares them: what
// never changes, fields that extensions do not handle, and fields that change without a rollout.
// Source: internal/util/inplace.CleanupMachineSpecForDiff, Cluster API 1.14.
func machineSpecs(current, desired clusterv1.MachineSpec) (pair, error) {
	before, err := toDocument(clusterv1.Machine{Spec: compared(current)})
	if err != nil {
		return pair{}, err
	}
	after, err := toDocument(clusterv1.Machine{Spec: compared(desired)})
	if err != nil {
		return pair{}, err
	}
	return pair{before, after}, nil
}

func compared(spec clusterv1.MachineSpec) clusterv1.MachineSpec {
	cleaned := *spec.DeepCopy()
	cleaned.ClusterName = ""
	cleaned.Bootstrap = clusterv1.Bootstrap{}
	cleaned.InfrastructureRef = clusterv1.ContractVersionedObjectReference{}
	cleaned.ProviderID = ""
	cleaned.MinReadySeconds = nil
	cleaned.ReadinessGates = nil
	cleaned.Deletion.NodeDrainTimeoutSeconds = nil
	cleaned.Deletion.NodeVolumeDetachTimeoutSeconds = nil
	cleaned.Deletion.NodeDeletionTimeoutSeconds = nil
	cleaned.Taints = nil
	return cleaned
}
