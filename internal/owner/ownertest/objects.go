// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ownertest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
)

// Template wants an image.
func Template(namespace, name, image string) *infrav1.ElementalMachineTemplate {
	template := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	template.Spec.Template.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "workers"}}
	template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage(image)
	return template
}

// Rollout of the content of a template to a Cluster. It has the name of the template.
func Rollout(template *infrav1.ElementalMachineTemplate, cluster string) *infrav1.ElementalRollout {
	return &infrav1.ElementalRollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: template.Namespace, Name: template.Name},
		Spec: infrav1.ElementalRolloutSpec{
			ClusterName: cluster, TemplateName: template.Name, Revision: 1, OSVersionManagement: template.Spec.Template.Spec.OSVersionManagement,
		},
	}
}

// Reference to a template of ours.
func Reference(kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name}
}

// Cluster with an ElementalCluster of the same name.
func Cluster(namespace, name string, options infrav1.NodeUpgradeOption) (*clusterv1.Cluster, *infrav1.ElementalCluster) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	return &clusterv1.Cluster{ObjectMeta: meta, Spec: clusterv1.ClusterSpec{InfrastructureRef: Reference("ElementalCluster", name)}},
		&infrav1.ElementalCluster{ObjectMeta: meta, Spec: infrav1.ElementalClusterSpec{NodeUpgradeOption: options}}
}

func machineSpec(cluster string, infrastructure clusterv1.ContractVersionedObjectReference) clusterv1.MachineSpec {
	return clusterv1.MachineSpec{
		ClusterName:       cluster,
		Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To("bootstrap")},
		InfrastructureRef: infrastructure,
	}
}

// MachineDeployment that updates in place: maxSurge 0.
func MachineDeployment(namespace, name, cluster, template string, replicas int32) *clusterv1.MachineDeployment {
	labels := map[string]string{clusterv1.MachineDeploymentNameLabel: name}
	return &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: cluster,
			Replicas:    ptr.To(replicas),
			Selector:    metav1.LabelSelector{MatchLabels: labels},
			Rollout: clusterv1.MachineDeploymentRolloutSpec{Strategy: clusterv1.MachineDeploymentRolloutStrategy{
				Type: clusterv1.RollingUpdateMachineDeploymentStrategyType,
				RollingUpdate: clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{
					MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(1)),
				},
			}},
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
				Spec:       machineSpec(cluster, Reference("ElementalMachineTemplate", template)),
			},
		},
	}
}

// MachineSet of an existing MachineDeployment.
func MachineSet(md *clusterv1.MachineDeployment, name, template string, replicas int32) *clusterv1.MachineSet {
	labels := map[string]string{clusterv1.MachineDeploymentNameLabel: md.Name, "set": name}
	return &clusterv1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: md.Namespace, Name: name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(md, clusterv1.GroupVersion.WithKind("MachineDeployment")),
			},
		},
		Spec: clusterv1.MachineSetSpec{
			ClusterName: md.Spec.ClusterName,
			Replicas:    ptr.To(replicas),
			Selector:    metav1.LabelSelector{MatchLabels: labels},
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
				Spec:       machineSpec(md.Spec.ClusterName, Reference("ElementalMachineTemplate", template)),
			},
		},
	}
}

// Machine of an existing MachineSet; its ElementalMachine has the same name.
func Machine(set *clusterv1.MachineSet, name string) *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: name, Labels: set.Labels,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(set, clusterv1.GroupVersion.WithKind("MachineSet")),
			},
		},
		Spec: machineSpec(set.Spec.ClusterName, Reference("ElementalMachine", name)),
	}
}

// RKE2Machine of an existing RKE2ControlPlane; its ElementalMachine has the same name.
func RKE2Machine(of *rke2.ControlPlane, name string) *clusterv1.Machine {
	cluster := of.Labels[clusterv1.ClusterNameLabel]
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: of.Namespace, Name: name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: cluster, clusterv1.MachineControlPlaneLabel: ""},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, rke2.GroupVersion.WithKind(rke2.ControlPlaneKind))},
		},
		Spec: machineSpec(cluster, Reference("ElementalMachine", name)),
	}
}

// ControlPlaneMachine of an existing KubeadmControlPlane; its ElementalMachine has the same name.
func ControlPlaneMachine(kcp *controlplanev1.KubeadmControlPlane, name string) *clusterv1.Machine {
	cluster := kcp.Labels[clusterv1.ClusterNameLabel]
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: kcp.Namespace, Name: name,
			Labels: map[string]string{
				clusterv1.ClusterNameLabel: cluster, clusterv1.MachineControlPlaneNameLabel: kcp.Name, clusterv1.MachineControlPlaneLabel: "",
			},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(kcp, controlplanev1.GroupVersion.WithKind("KubeadmControlPlane")),
			},
		},
		Spec: machineSpec(cluster, Reference("ElementalMachine", name)),
	}
}

// ElementalMachine as Cluster API creates it from a template.
func ElementalMachine(namespace, name, template, image string) *infrav1.ElementalMachine {
	return &infrav1.ElementalMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Annotations: map[string]string{
				clusterv1.TemplateClonedFromNameAnnotation:      template,
				clusterv1.TemplateClonedFromGroupKindAnnotation: "ElementalMachineTemplate." + infrav1.GroupVersion.Group,
			},
		},
		Spec: infrav1.ElementalMachineSpec{OSVersionManagement: osversion.OfImage(image)},
	}
}

// KubeadmControlPlane that updates in place: 3 replicas, maxSurge 0.
func KubeadmControlPlane(namespace, name, cluster, template string) *controlplanev1.KubeadmControlPlane {
	return &controlplanev1.KubeadmControlPlane{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster},
		},
		Spec: controlplanev1.KubeadmControlPlaneSpec{
			Version:  "v1.36.3",
			Replicas: ptr.To[int32](3),
			MachineTemplate: controlplanev1.KubeadmControlPlaneMachineTemplate{
				Spec: controlplanev1.KubeadmControlPlaneMachineTemplateSpec{InfrastructureRef: Reference("ElementalMachineTemplate", template)},
			},
			Rollout: controlplanev1.KubeadmControlPlaneRolloutSpec{Strategy: controlplanev1.KubeadmControlPlaneRolloutStrategy{
				Type:          controlplanev1.RollingUpdateStrategyType,
				RollingUpdate: controlplanev1.KubeadmControlPlaneRolloutStrategyRollingUpdate{MaxSurge: ptr.To(intstr.FromInt32(0))},
			}},
		},
	}
}

// RKE2ControlPlane that updates in place: 3 replicas, maxSurge 0.
func RKE2ControlPlane(namespace, name, cluster, template string) *rke2.ControlPlane {
	return &rke2.ControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
		Spec: rke2.ControlPlaneSpec{
			Replicas:        ptr.To[int32](3),
			MachineTemplate: rke2.MachineTemplate{Spec: rke2.MachineTemplateSpec{InfrastructureRef: Reference("ElementalMachineTemplate", template)}},
			RolloutStrategy: &rke2.RolloutStrategy{
				Type: rke2.RollingUpdateStrategyType, RollingUpdate: &rke2.RollingUpdate{MaxSurge: ptr.To(intstr.FromInt32(0))},
			},
		},
	}
}

// Host that serves an existing ElementalMachine, which names it, and is bootstrapped.
func Host(machine *infrav1.ElementalMachine) *infrav1.ElementalHost {
	return &infrav1.ElementalHost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: machine.Namespace, Name: machine.Spec.HostRef.Name, Labels: map[string]string{infrav1.BootstrappedLabel: "true"},
		},
		Spec: infrav1.ElementalHostSpec{MachineRef: &infrav1.LocalReference{Name: machine.Name, UID: machine.UID}},
	}
}
