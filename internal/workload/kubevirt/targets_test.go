// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

var _ = DescribeTable("Whether a node can take a virtual machine",
	func(refusal string, changes ...change) {
		decisions := decide(infrav1.VMPolicyBlock, snapshot(changes...))
		if refusal == "" {
			Expect(decisions[0].Decision).To(Equal(infrav1.VMMigrate), decisions[0].Reason)
			return
		}
		Expect(decisions[0].Decision).To(Equal(infrav1.VMBlock))
		Expect(decisions[0].Reason).To(Equal("no other node can take it: node-2 (" + refusal + ")"))
	},
	Entry("it can", ""),
	Entry("not Ready", "not Ready", target(func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown })),
	Entry("not Ready, and short of memory", "not Ready", target(func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: corev1.ConditionFalse},
		}
	})),
	Entry("cordoned", "cordoned", target(func(n *corev1.Node) { n.Spec.Unschedulable = true })),
	Entry("virt-handler is away", "virt-handler does not serve it", target(func(n *corev1.Node) { n.Labels[kubevirt.SchedulableLabel] = "false" })),
	Entry("another architecture", "another architecture", target(func(n *corev1.Node) { n.Labels[corev1.LabelArchStable] = "arm64" })),
	Entry("no architecture asked for", "", target(func(n *corev1.Node) { n.Labels[corev1.LabelArchStable] = "arm64" }),
		vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Spec.Architecture = "" })),
	Entry("a taint", "taint gpu is not tolerated", target(taint(corev1.TaintEffectNoSchedule))),
	Entry("a taint that is tolerated", "", target(taint(corev1.TaintEffectNoExecute)), vmi(func(v *kubevirtv1.VirtualMachineInstance) {
		v.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	})),
	Entry("a taint that only advises", "", target(taint(corev1.TaintEffectPreferNoSchedule))),
	Entry("a selector", "not selected by the virtual machine", vmi(func(v *kubevirtv1.VirtualMachineInstance) {
		v.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node-1"}
	})),
	Entry("a selector that it meets", "", vmi(func(v *kubevirtv1.VirtualMachineInstance) {
		v.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: "amd64"}
	})),
	Entry("an affinity", "not selected by the virtual machine", affinity(corev1.NodeSelectorRequirement{
		Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1"},
	})),
	Entry("an affinity that it meets", "", affinity(corev1.NodeSelectorRequirement{
		Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"node-1"},
	})),
	Entry("an affinity to Pods only", "", vmi(func(v *kubevirtv1.VirtualMachineInstance) {
		v.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}}
	})),
	Entry("an affinity to nothing", "not selected by the virtual machine", affinity()),
	Entry("an affinity by name", "not selected by the virtual machine", vmi(func(v *kubevirtv1.VirtualMachineInstance) {
		v.Spec.Affinity = required(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1"},
		}}})
	})),
	Entry("an affinity by name that it meets", "", vmi(func(v *kubevirtv1.VirtualMachineInstance) {
		v.Spec.Affinity = required(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-2"},
		}}})
	})),
	Entry("memory that others have taken", "not enough memory", func(s *kubevirt.Snapshot) {
		s.Pods = append(s.Pods, pod("web", "node-2", "3500Mi"))
	}),
	Entry("just enough memory", "", func(s *kubevirt.Snapshot) { s.Pods = append(s.Pods, pod("web", "node-2", "3Gi")) }),
	Entry("memory that only an init container needs", "not enough memory", func(s *kubevirt.Snapshot) {
		s.Pods = append(s.Pods, pod("web", "node-2", "1Gi", func(p *corev1.Pod) { p.Spec.InitContainers = container("4Gi", nil) }))
	}),
	Entry("memory of a sidecar", "not enough memory", func(s *kubevirt.Snapshot) {
		s.Pods = append(s.Pods, pod("web", "node-2", "2Gi", func(p *corev1.Pod) {
			p.Spec.InitContainers = container("1500Mi", new(corev1.ContainerRestartPolicyAlways))
		}))
	}),
	Entry("memory of an init container that is not restarted", "", func(s *kubevirt.Snapshot) {
		s.Pods = append(s.Pods, pod("web", "node-2", "2Gi", func(p *corev1.Pod) {
			p.Spec.InitContainers = container("1500Mi", new(corev1.ContainerRestartPolicyNever))
		}))
	}),
	Entry("memory that is requested, less than the guest's", "", unstarted(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")})),
	Entry("memory of the guest, where none is requested", "not enough memory", unstarted(nil)),
	Entry("no memory that anybody says", "", unstarted(nil), vmi(func(v *kubevirtv1.VirtualMachineInstance) {
		v.Spec.Domain.Memory = &kubevirtv1.Memory{}
	})),
	Entry("no CPU, of a node that has given away more than it has", "", func(s *kubevirt.Snapshot) {
		s.Nodes[1].Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("500m")
		s.Pods[0].Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("0")
		s.Pods = append(s.Pods, pod("web", "node-2", "1Gi"))
	}),
	Entry("CPU", "not enough cpu", target(func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("500m") })),
	Entry("Pods", "not enough pods", target(func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("0") })),
	Entry("devices", "not enough devices.kubevirt.io/kvm", target(func(n *corev1.Node) { delete(n.Status.Allocatable, "devices.kubevirt.io/kvm") })),
)

var _ = Describe("Virtual machines that leave a node", func() {
	DescribeTable("take room where most memory is left, by name where that is the same", func(memory, left string) {
		larger, smaller := "b", "a"
		s := snapshot(func(s *kubevirt.Snapshot) {
			three := node("node-3")
			three.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse(memory)
			s.Nodes = append(s.Nodes, *three)
			s.Pods[0].Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("2Gi")
			s.Instances[0].Spec.NodeSelector = map[string]string{corev1.LabelHostname: left}
			addVM(s, larger, "3Gi")
		})
		Expect(decide(infrav1.VMPolicyBlock, s)).To(HaveExactElements(
			And(HaveField("Name", smaller), HaveField("Decision", infrav1.VMMigrate)),
			And(HaveField("Name", larger), HaveField("Decision", infrav1.VMMigrate)),
		), "the smaller one needs the node that the larger one has left")
	},
		Entry("more on node-3", "6Gi", "node-2"),
		Entry("the same on both", "4Gi", "node-3"),
	)

	It("name three nodes of a reason", func() {
		s := snapshot(func(s *kubevirt.Snapshot) {
			s.Nodes = append(s.Nodes, *node("node-3"), *node("node-4"))
			for i := range s.Nodes {
				s.Nodes[i].Spec.Unschedulable = true
			}
		})
		Expect(decide(infrav1.VMPolicyBlock, s)[0].Reason).To(Equal("no other node can take it: node-2, node-3, node-4 (cordoned)"))
		five := node("node-5")
		five.Spec.Unschedulable = true
		s.Nodes = append(s.Nodes, *five)
		Expect(decide(infrav1.VMPolicyBlock, s)[0].Reason).To(Equal("no other node can take it: node-2, node-3, node-4 and 1 more (cordoned)"))
	})
})

func taint(effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: effect}} }
}

func affinity(requirements ...corev1.NodeSelectorRequirement) change {
	return vmi(func(v *kubevirtv1.VirtualMachineInstance) {
		v.Spec.Affinity = required(corev1.NodeSelectorTerm{MatchExpressions: requirements})
	})
}

func required(term corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}},
	}}
}

func container(memory string, restart *corev1.ContainerRestartPolicy) []corev1.Container {
	return []corev1.Container{{RestartPolicy: restart, Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)},
	}}}
}

// unstarted takes the Pod of the virtual machine away, which requests what is given and has a guest of 8Gi.
func unstarted(requests corev1.ResourceList) change {
	return func(s *kubevirt.Snapshot) {
		s.Pods = nil
		s.Instances[0].Spec.Domain.Resources.Requests = requests
		s.Instances[0].Spec.Domain.Memory = &kubevirtv1.Memory{Guest: new(resource.MustParse("8Gi"))}
	}
}
