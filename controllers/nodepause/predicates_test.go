// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("An update wakes the controller", func(before, after client.Object, expected bool) {
	Expect(markedChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(expected))
},
	Entry("not by the heartbeat of a kubelet", &corev1.Node{}, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}, Status: corev1.NodeStatus{Phase: corev1.NodeRunning}}, false),
	Entry("not by a cordon", &corev1.Node{}, &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, false),
	Entry("by a pause without a value", &corev1.Node{}, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.NodeUpgradePauseAnnotation: ""}}}, true),
	Entry("by another value of a pause",
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.NodeUpgradePauseAnnotation: "new"}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.NodeUpgradePauseAnnotation: "lunch"}}}, true),
	Entry("not by what a host reports", &infrav1.ElementalHost{}, &infrav1.ElementalHost{
		Status: infrav1.ElementalHostStatus{OS: infrav1.HostOS{FreeBytes: 1}, Message: "fetching"}}, false),
	Entry("by what a host runs", &infrav1.ElementalHost{}, &infrav1.ElementalHost{
		Status: infrav1.ElementalHostStatus{OS: infrav1.HostOS{Digest: "sha256:new"}}}, true),
	Entry("not by the progress of an attempt", &infrav1.ElementalHostUpgrade{}, &infrav1.ElementalHostUpgrade{
		Status: infrav1.ElementalHostUpgradeStatus{Message: "draining", Step: "Drain", StepIndex: 7, StepCount: 14}}, false),
	Entry("not by the first step of an attempt", &infrav1.ElementalHostUpgrade{
		Status: infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradePending}}, &infrav1.ElementalHostUpgrade{
		Status: infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeProgressing}}, false),
	Entry("by a host that is lost", &infrav1.ElementalHostUpgrade{
		Status: infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeProgressing}}, &infrav1.ElementalHostUpgrade{
		Status: infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeHostLost}}, true),
	Entry("by a success, from which nothing is left to do", &infrav1.ElementalHostUpgrade{
		Status: infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeAborted}}, &infrav1.ElementalHostUpgrade{
		Status: infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeSucceeded}}, true),
	Entry("by the end of an attempt", &infrav1.ElementalHostUpgrade{}, &infrav1.ElementalHostUpgrade{
		Status: infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeAborted}}, true),
	Entry("not by the conditions of a Machine", &clusterv1.Machine{}, &clusterv1.Machine{
		Status: clusterv1.MachineStatus{Phase: "Running"}}, false),
	Entry("by the Node of a Machine", &clusterv1.Machine{}, &clusterv1.Machine{
		Status: clusterv1.MachineStatus{NodeRef: clusterv1.MachineNodeReference{Name: "a"}}}, true),
	Entry("by the Cluster that a host comes into", &infrav1.ElementalHost{}, &infrav1.ElementalHost{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}}}, true),
	Entry("by the image that a template was looked up to", &infrav1.ElementalMachineTemplate{}, &infrav1.ElementalMachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.ResolvedOSVersionAnnotation: "{}"}}}, true),
	Entry("by the Cluster that a control plane is given to", &controlplanev1.KubeadmControlPlane{}, &controlplanev1.KubeadmControlPlane{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}}}, true),
	Entry("by another template of a MachineDeployment", &clusterv1.MachineDeployment{}, &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 2}}, true),
)
