// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"encoding/json"
	"reflect"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/hooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// raw encodes an object as Cluster API puts it into a request.
func raw(object any) runtime.RawExtension {
	GinkgoHelper()
	encoded, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return runtime.RawExtension{Raw: encoded}
}

func templateObject(name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": infrav1.GroupVersion.String(), "kind": "ElementalMachineTemplate",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"template": map[string]any{"spec": spec}},
	}
}

func osOf(image string) map[string]any {
	return map[string]any{"osVersion": map[string]any{"imageURI": image}}
}

// setRequest is a change from template "old" to "new" of a MachineDeployment "md" in a cluster "c".
type setRequest struct {
	namespace        string
	current, desired map[string]any
	mutate           func(*runtimehooksv1.CanUpdateMachineSetRequest)
}

func (s setRequest) build() *runtimehooksv1.CanUpdateMachineSetRequest {
	GinkgoHelper()
	set := clusterv1.MachineSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "ms", Labels: map[string]string{clusterv1.MachineDeploymentNameLabel: "md"}},
	}
	set.Spec.ClusterName = "c"
	set.Spec.Template.Spec.ClusterName = "c"
	set.Spec.Template.Spec.Version = "v1.36.3"
	request := &runtimehooksv1.CanUpdateMachineSetRequest{}
	request.Current = runtimehooksv1.CanUpdateMachineSetRequestObjects{
		MachineSet: *set.DeepCopy(), InfrastructureMachineTemplate: raw(s.current),
	}
	request.Desired = runtimehooksv1.CanUpdateMachineSetRequestObjects{
		MachineSet: *set.DeepCopy(), InfrastructureMachineTemplate: raw(s.desired),
	}
	if s.mutate != nil {
		s.mutate(request)
	}
	return request
}

// coveredAsClusterAPISees applies the patch as Cluster API does, taking over spec.template.spec alone, and
// compares as Cluster API does.
func coveredAsClusterAPISees(request *runtimehooksv1.CanUpdateMachineSetRequest, response *runtimehooksv1.CanUpdateMachineSetResponse) bool {
	GinkgoHelper()
	patched := request.Current.InfrastructureMachineTemplate.Raw
	if patch := response.InfrastructureMachineTemplatePatch; patch.IsDefined() {
		Expect(patch.PatchType).To(Equal(runtimehooksv1.JSONPatchType))
		decoded, err := jsonpatch.DecodePatch(patch.Patch)
		Expect(err).NotTo(HaveOccurred())
		patched, err = decoded.Apply(patched)
		Expect(err).NotTo(HaveOccurred())
	}
	return reflect.DeepEqual(specOf(patched), specOf(request.Desired.InfrastructureMachineTemplate.Raw))
}

func specOf(object []byte) any {
	GinkgoHelper()
	decoded := struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}{}
	Expect(json.Unmarshal(object, &decoded)).To(Succeed())
	return decoded.Spec.Template
}

var _ = Describe("CanUpdateMachineSet", func() {
	var (
		namespace string
		handlers  *hooks.Handlers
	)
	BeforeEach(func() {
		namespace = plane.NewNamespace(ctx, optIn)
		handlers, _ = newHandlers()
	})

	ask := func(request *runtimehooksv1.CanUpdateMachineSetRequest) *runtimehooksv1.CanUpdateMachineSetResponse {
		response := &runtimehooksv1.CanUpdateMachineSetResponse{}
		handlers.CanUpdateMachineSet(ctx, request, response)
		return response
	}

	DescribeTable("covers changes of osVersionManagement, as Cluster API will see it",
		func(current, desired map[string]any, patched bool) {
			request := setRequest{namespace: namespace, current: templateObject("old", current), desired: templateObject("new", desired)}.build()
			response := ask(request)
			Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
			Expect(response.InfrastructureMachineTemplatePatch.IsDefined()).To(Equal(patched))
			Expect(coveredAsClusterAPISees(request, response)).To(BeTrue(), string(response.InfrastructureMachineTemplatePatch.Patch))
		},
		Entry("another image", map[string]any{"osVersionManagement": osOf("a")}, map[string]any{"osVersionManagement": osOf("b")}, true),
		Entry("an OS where there was none", map[string]any{"selector": map[string]any{}}, map[string]any{"selector": map[string]any{}, "osVersionManagement": osOf("b")}, true),
		Entry("an OS in an empty spec", map[string]any{}, map[string]any{"osVersionManagement": osOf("b")}, true),
		Entry("no OS any more", map[string]any{"osVersionManagement": osOf("a"), "selector": map[string]any{}}, map[string]any{"selector": map[string]any{}}, true),
		Entry("another name of the image", map[string]any{"osVersionManagement": map[string]any{"osVersion": map[string]any{"imageUri": "a"}}},
			map[string]any{"osVersionManagement": osOf("a")}, true),
		Entry("a key of another plugin", map[string]any{"osVersionManagement": osOf("a")},
			map[string]any{"osVersionManagement": map[string]any{"osVersion": map[string]any{"imageUri": "a"}, "firmware": []any{1, 2.5}}}, true),
		Entry("a copy of the same content", map[string]any{"osVersionManagement": osOf("a")}, map[string]any{"osVersionManagement": osOf("a")}, false),
	)

	It("covers an OS in a template that was stored without a spec", func() {
		current := templateObject("old", nil)
		current["spec"] = map[string]any{"template": map[string]any{}}
		request := setRequest{namespace: namespace, current: current, desired: templateObject("new", map[string]any{"osVersionManagement": osOf("b")})}.build()
		Expect(coveredAsClusterAPISees(request, ask(request))).To(BeTrue())
	})

	It("has nothing to cover in templates that were stored without a spec", func() {
		bare := templateObject("old", nil)
		bare["spec"] = map[string]any{"template": map[string]any{}}
		response := ask(setRequest{namespace: namespace, current: bare, desired: bare}.build())
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
		Expect(response.InfrastructureMachineTemplatePatch.IsDefined()).To(BeFalse())
	})

	It("says nothing about kinds that are not ours", func() {
		foreign := func(name, size string) map[string]any {
			object := templateObject(name, map[string]any{"size": size})
			object["kind"] = "OtherMachineTemplate"
			return object
		}
		response := ask(setRequest{namespace: namespace, current: foreign("old", "s"), desired: foreign("new", "l")}.build())
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess))
		Expect(response.InfrastructureMachineTemplatePatch.IsDefined()).To(BeFalse())
	})

	Describe("with changes that cannot be made in place", func() {
		uncovered := []TableEntry{
			Entry("of the template", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				r.Desired.InfrastructureMachineTemplate = raw(templateObject("new", map[string]any{"osVersionManagement": osOf("b"), "selector": map[string]any{"x": "y"}}))
			}, "ElementalMachineTemplate spec.template.spec.selector"),
			Entry("of the version", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				r.Desired.MachineSet.Spec.Template.Spec.Version = "v1.37.0"
			}, "MachineSet spec.template.spec.version"),
			Entry("of the bootstrap template", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				bootstrap := func(file string) runtime.RawExtension {
					return raw(map[string]any{"apiVersion": "b/v1", "kind": "KubeadmConfigTemplate",
						"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"files": []any{file}}}}})
				}
				r.Current.BootstrapConfigTemplate, r.Desired.BootstrapConfigTemplate = bootstrap("a"), bootstrap("b")
			}, "KubeadmConfigTemplate spec.template.spec.files"),
			Entry("to another provider", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				other := templateObject("new", map[string]any{"osVersionManagement": osOf("b")})
				other["kind"] = "OtherMachineTemplate"
				r.Desired.InfrastructureMachineTemplate = raw(other)
			}, "infrastructure kind (ElementalMachineTemplate to OtherMachineTemplate)"),
			Entry("from another provider", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				other := templateObject("old", map[string]any{"osVersionManagement": osOf("a")})
				other["kind"] = "OtherMachineTemplate"
				r.Current.InfrastructureMachineTemplate = raw(other)
			}, "infrastructure kind (OtherMachineTemplate to ElementalMachineTemplate)"),
			Entry("deep in the template", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				of := func(name, zone string) runtime.RawExtension {
					return raw(templateObject(name, map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"zone": zone, "rack": "1"}}}))
				}
				r.Current.InfrastructureMachineTemplate, r.Desired.InfrastructureMachineTemplate = of("old", "a"), of("new", "b")
			}, "ElementalMachineTemplate spec.template.spec.selector.matchLabels.zone"),
			Entry("to null, which is not the same as nothing", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				r.Current.InfrastructureMachineTemplate = raw(templateObject("old", map[string]any{"selector": map[string]any{}}))
				r.Desired.InfrastructureMachineTemplate = raw(templateObject("new", map[string]any{"selector": map[string]any{"matchLabels": nil}}))
			}, "ElementalMachineTemplate spec.template.spec.selector.matchLabels"),
			Entry("to a template that was stored without a spec", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				bare := templateObject("new", nil)
				bare["spec"] = map[string]any{"template": map[string]any{}}
				r.Desired.InfrastructureMachineTemplate = raw(bare)
			}, "ElementalMachineTemplate spec.template.spec"),
		}

		request := func(mutate func(*runtimehooksv1.CanUpdateMachineSetRequest)) *runtimehooksv1.CanUpdateMachineSetRequest {
			return setRequest{
				namespace: namespace, mutate: mutate,
				current: templateObject("old", map[string]any{"osVersionManagement": osOf("a")}),
				desired: templateObject("new", map[string]any{"osVersionManagement": osOf("b")}),
			}.build()
		}

		DescribeTable("fails by default, naming the field to the owners", func(mutate func(*runtimehooksv1.CanUpdateMachineSetRequest), field string) {
			cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{})
			plane.Create(ctx, cluster, elemental, ownertest.MachineDeployment(namespace, "md", "c", "old", 3), ownertest.Template(namespace, "new", "b"))
			told, events := newHandlers()
			response := &runtimehooksv1.CanUpdateMachineSetResponse{}
			told.CanUpdateMachineSet(ctx, request(mutate), response)
			Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusFailure))
			Expect(response.Message).To(And(ContainSubstring(field), ContainSubstring("ElementalCluster c")))
			Expect(response.InfrastructureMachineTemplatePatch.IsDefined()).To(BeFalse())
			Expect(events.Events).To(HaveLen(2), "the template and the MachineDeployment")
			Expect(<-events.Events).To(And(ContainSubstring(infrav1.EventInPlaceRefused), ContainSubstring(field)))
		}, uncovered)

		DescribeTable("lets Cluster API replace where that is allowed", func(mutate func(*runtimehooksv1.CanUpdateMachineSetRequest), _ string) {
			cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{Replacement: infrav1.ReplacementAllow})
			plane.Create(ctx, cluster, elemental)
			asked := request(mutate)
			response := ask(asked)
			Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
			Expect(patchedEqualsDesired(asked, response)).To(BeFalse(), "or Cluster API would believe that the change is covered")
		}, uncovered)

		It("follows the options that were recorded for the rollout", func() {
			cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{Replacement: infrav1.ReplacementAllow})
			plane.Create(ctx, cluster, elemental)
			template := ownertest.Template(namespace, "new", "b")
			of := ownertest.Rollout(template, "c")
			of.Spec.Options.Replacement = infrav1.ReplacementDeny
			plane.Create(ctx, template, of)
			desired := templateObject("new", map[string]any{"other": "x"})
			response := ask(setRequest{namespace: namespace, current: templateObject("old", map[string]any{}), desired: desired}.build())
			Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusFailure))
			Expect(response.Message).To(ContainSubstring("spec.options of ElementalRollout new"))

			By("but not those of a rollout of what the template had before")
			apiserver.Change(ctx, c, template, func() { template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("c") })
			response = ask(setRequest{namespace: namespace, current: templateObject("old", map[string]any{}), desired: desired}.build())
			Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
			apiserver.Change(ctx, c, template, func() { template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("b") })

			By("nor where the template stays the same")
			desired["metadata"].(map[string]any)["name"] = "old"
			response = ask(setRequest{namespace: namespace, current: templateObject("old", map[string]any{}), desired: desired}.build())
			Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)

			By("nor those of a rollout that is over")
			desired["metadata"].(map[string]any)["name"] = "new"
			apiserver.Change(ctx, c, of, func() { of.Spec.Completed = true })
			response = ask(setRequest{namespace: namespace, current: templateObject("old", map[string]any{}), desired: desired}.build())
			Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
		})

		DescribeTable("fails on any doubt", func(prepare func(*runtimehooksv1.CanUpdateMachineSetRequest)) {
			response := ask(request(prepare))
			Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusFailure))
			Expect(response.InfrastructureMachineTemplatePatch.IsDefined()).To(BeFalse())
		},
			Entry("when the Cluster with the policy does not exist", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				r.Desired.MachineSet.Spec.Template.Spec.Version = "v1.37.0"
			}),
			Entry("when a template is missing", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				r.Current.InfrastructureMachineTemplate = runtime.RawExtension{}
			}),
			Entry("when a template is no JSON", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				r.Desired.InfrastructureMachineTemplate.Raw = []byte("{")
			}),
			Entry("when there is no bootstrap template any more", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				r.Current.BootstrapConfigTemplate = raw(map[string]any{"kind": "KubeadmConfigTemplate"})
			}),
			Entry("when there was no bootstrap template", func(r *runtimehooksv1.CanUpdateMachineSetRequest) {
				r.Desired.BootstrapConfigTemplate = raw(map[string]any{"kind": "KubeadmConfigTemplate"})
			}),
		)
	})

	DescribeTable("ignores in a Machine's spec what Cluster API ignores", func(mutate func(*clusterv1.MachineSpec)) {
		response := ask(setRequest{
			namespace: namespace,
			current:   templateObject("old", map[string]any{}), desired: templateObject("new", map[string]any{}),
			mutate: func(r *runtimehooksv1.CanUpdateMachineSetRequest) { mutate(&r.Desired.MachineSet.Spec.Template.Spec) },
		}.build())
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
	},
		Entry("the infrastructureRef", func(s *clusterv1.MachineSpec) { s.InfrastructureRef.Name = "other" }),
		Entry("the bootstrap reference", func(s *clusterv1.MachineSpec) { s.Bootstrap.DataSecretName = ptr.To("other") }),
		Entry("minReadySeconds", func(s *clusterv1.MachineSpec) { s.MinReadySeconds = ptr.To[int32](3) }),
		Entry("readiness gates", func(s *clusterv1.MachineSpec) {
			s.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "x"}}
		}),
		Entry("time-outs of the deletion", func(s *clusterv1.MachineSpec) {
			s.Deletion.NodeDrainTimeoutSeconds, s.Deletion.NodeDeletionTimeoutSeconds = ptr.To[int32](3), ptr.To[int32](3)
			s.Deletion.NodeVolumeDetachTimeoutSeconds = ptr.To[int32](3)
		}),
		Entry("taints", func(s *clusterv1.MachineSpec) { s.Taints = []clusterv1.MachineTaint{{Key: "a"}} }),
	)
})

// patchedEqualsDesired reports whether Cluster API would find nothing left that differs.
func patchedEqualsDesired(request *runtimehooksv1.CanUpdateMachineSetRequest, response *runtimehooksv1.CanUpdateMachineSetResponse) bool {
	GinkgoHelper()
	return coveredAsClusterAPISees(request, response) &&
		reflect.DeepEqual(request.Current.MachineSet.Spec.Template.Spec.Version, request.Desired.MachineSet.Spec.Template.Spec.Version) &&
		reflect.DeepEqual(request.Current.BootstrapConfigTemplate.Raw, request.Desired.BootstrapConfigTemplate.Raw)
}

var _ = Describe("CanUpdateMachine", func() {
	var namespace string
	BeforeEach(func() { namespace = plane.NewNamespace(ctx, optIn) })

	machineObject := func(from string, spec map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": infrav1.GroupVersion.String(), "kind": "ElementalMachine",
			"metadata": map[string]any{"name": "m", "annotations": map[string]any{clusterv1.TemplateClonedFromNameAnnotation: from}},
			"spec":     spec,
		}
	}
	request := func(current, desired map[string]any) *runtimehooksv1.CanUpdateMachineRequest {
		machine := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m"}, Spec: clusterv1.MachineSpec{ClusterName: "c"}}
		r := &runtimehooksv1.CanUpdateMachineRequest{}
		r.Current = runtimehooksv1.CanUpdateMachineRequestObjects{Machine: machine, InfrastructureMachine: raw(current)}
		r.Desired = runtimehooksv1.CanUpdateMachineRequestObjects{Machine: machine, InfrastructureMachine: raw(desired)}
		return r
	}

	It("covers the OS and nothing else", func() {
		handlers, _ := newHandlers()
		response := &runtimehooksv1.CanUpdateMachineResponse{}
		handlers.CanUpdateMachine(ctx, request(
			machineObject("old", map[string]any{"osVersionManagement": osOf("a"), "providerID": "elemental://n/h"}),
			machineObject("new", map[string]any{"osVersionManagement": osOf("b"), "providerID": "elemental://n/h"})), response)
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
		operations := []map[string]any{}
		Expect(json.Unmarshal(response.InfrastructureMachinePatch.Patch, &operations)).To(Succeed())
		Expect(operations).To(HaveLen(1))
		Expect(operations[0]).To(HaveKeyWithValue("path", "/spec/osVersionManagement"))
	})

	It("goes by the Cluster's options where the template is gone", func() {
		cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{Replacement: infrav1.ReplacementAllow})
		plane.Create(ctx, cluster, elemental)
		handlers, _ := newHandlers()
		response := &runtimehooksv1.CanUpdateMachineResponse{}
		handlers.CanUpdateMachine(ctx, request(machineObject("old", map[string]any{"selector": "x"}), machineObject("gone", map[string]any{})), response)
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess), response.Message)
		Expect(response.Message).To(ContainSubstring("ElementalCluster c"))
	})

	It("finds the options of the rollout, and tells the Machine and its owner", func() {
		cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{Replacement: infrav1.ReplacementAllow})
		kcp := ownertest.KubeadmControlPlane(namespace, "cp", "c", "new")
		template := ownertest.Template(namespace, "new", "b")
		plane.Create(ctx, cluster, elemental, kcp, template, ownertest.Rollout(template, "c"))
		plane.Create(ctx, client.Object(ownertest.ControlPlaneMachine(kcp, "m")))
		handlers, recorder := newHandlers()
		response := &runtimehooksv1.CanUpdateMachineResponse{}
		handlers.CanUpdateMachine(ctx, request(machineObject("old", map[string]any{"selector": "x"}), machineObject("new", map[string]any{})), response)
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusFailure))
		Expect(response.Message).To(And(ContainSubstring("ElementalMachine spec.selector"), ContainSubstring("ElementalRollout new")))
		Expect(recorder.Events).To(HaveLen(3), "template, Machine, control plane")
		Expect(strings.Count(<-recorder.Events, "spec.selector")).To(Equal(1))
	})
})
