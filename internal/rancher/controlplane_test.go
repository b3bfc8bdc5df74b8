// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

type fields = map[string]any

// holding is a reader of one RKEControlPlane.
type holding struct {
	client.Reader
	spec, status fields
}

func (h holding) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found, _ := into.(*unstructured.Unstructured)
	found.Object["spec"], found.Object["status"] = h.spec, h.status
	return nil
}

// with is an RKEControlPlane.
func with(strategy, status fields) *rancher.ControlPlane {
	GinkgoHelper()
	found, err := rancher.ControlPlaneOf(context.Background(), holding{spec: fields{"upgradeStrategy": strategy}, status: status}, provisioned("default"))
	Expect(err).NotTo(HaveOccurred())
	return found
}

func provisioned(namespace string) *clusterv1.Cluster {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c"}}
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: rancher.Group, Kind: rancher.ControlPlaneKind, Name: "c"}
	return cluster
}

// hooks are drain options with the annotations that are asked for before and after a drain.
func hooks(before, after []any) fields {
	return fields{"enabled": true, "preDrainHooks": before, "postDrainHooks": after}
}

func hook(annotation string) any { return fields{"annotation": annotation} }

var _ = DescribeTable("An RKEControlPlane lacks hooks", func(controlPlane, worker fields, expected string) {
	object := with(fields{"controlPlaneDrainOptions": controlPlane, "workerDrainOptions": worker}, nil)
	Expect(strings.Join(append(object.MissingHooks(rancher.ControlPlaneTier), object.MissingHooks(rancher.WorkerTier)...), ", ")).To(Equal(expected))
},
	Entry("not if it has all, whatever others it has", hooks([]any{hook("a"), hook(pre)}, []any{hook(post), hook("a")}), hooks([]any{hook(pre)}, []any{hook(post)}), ""),
	Entry("if it has none", nil, nil, "controlPlaneDrainOptions.preDrainHooks: "+pre+", controlPlaneDrainOptions.postDrainHooks: "+post+
		", workerDrainOptions.preDrainHooks: "+pre+", workerDrainOptions.postDrainHooks: "+post),
	Entry("if they are for control planes only", hooks([]any{hook(pre)}, []any{hook(post)}), hooks([]any{}, []any{hook("a")}),
		"workerDrainOptions.preDrainHooks: "+pre+", workerDrainOptions.postDrainHooks: "+post),
	Entry("if they are exchanged", hooks([]any{hook(post)}, []any{hook(pre)}), hooks([]any{hook(pre)}, []any{hook(post)}),
		"controlPlaneDrainOptions.preDrainHooks: "+pre+", controlPlaneDrainOptions.postDrainHooks: "+post),
	Entry("if they are something else", hooks([]any{pre}, []any{hook(post)}), hooks([]any{hook(pre)}, []any{hook(post)}), "controlPlaneDrainOptions.preDrainHooks: "+pre),
)

var _ = DescribeTable("Rancher drains more Nodes at a time than two", func(controlPlane, worker any, expected string) {
	Expect(with(fields{"controlPlaneConcurrency": controlPlane, "workerConcurrency": worker}, nil).Concurrency(2)).To(Equal(expected))
},
	Entry("not by default, which is one", nil, nil, ""),
	Entry("not by an empty number", "", "", ""),
	Entry("not if it is two", "2", "1", ""),
	Entry("if it is three workers", "1", "3", `upgradeStrategy.workerConcurrency is "3"`),
	Entry("if it is without a limit", "0", "1", `upgradeStrategy.controlPlaneConcurrency is "0"`),
	Entry("of the first tier, if it is both", "4", "3", `upgradeStrategy.controlPlaneConcurrency is "4"`),
	Entry("which is not known of a share", "1", "50%", ""),
)

var _ = DescribeTable("Rancher says of its upgrade", func(conditions any, expected string) {
	Expect(with(nil, fields{"conditions": conditions}).ReadyMessage()).To(Equal(expected))
},
	Entry("nothing", nil, ""),
	Entry("nothing, if it is Ready", []any{fields{"type": "Ready", "status": "True"}}, ""),
	Entry("what its condition Ready says", []any{fields{"type": "Updated", "message": "other"}, fields{"type": "Ready", "message": "draining node"}}, "draining node"),
	Entry("nothing by other conditions", []any{fields{"type": "Updated", "message": "other"}, "Ready"}, ""),
)

var _ = Describe("The RKEControlPlane of a Cluster", Ordered, func() {
	of := func(ctx context.Context) (*rancher.ControlPlane, error) {
		return rancher.ControlPlaneOf(ctx, server.Client, provisioned(corev1.NamespaceDefault))
	}

	It("is none where Rancher is not installed", func(ctx SpecContext) {
		Expect(of(ctx)).To(BeNil())
	})

	It("is read by its name", func(ctx SpecContext) {
		_, err := envtest.InstallCRDs(server.Config, envtest.CRDInstallOptions{Paths: []string{filepath.Join(specs.Root(), "test", "lab", "rancher", "crds.yaml")}})
		Expect(err).NotTo(HaveOccurred())
		Expect(of(ctx)).To(BeNil(), "it does not exist")
		stored := &unstructured.Unstructured{Object: fields{
			"apiVersion": "rke.cattle.io/v1", "kind": rancher.ControlPlaneKind, "metadata": fields{"namespace": corev1.NamespaceDefault, "name": "c"},
			"spec": fields{"upgradeStrategy": fields{"workerConcurrency": "10%", "controlPlaneConcurrency": "7", "workerDrainOptions": hooks([]any{hook(pre)}, []any{})}},
		}}
		Expect(server.Client.Create(ctx, stored)).To(Succeed())
		found, err := of(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(found.Concurrency(1)).To(ContainSubstring("controlPlaneConcurrency"))
		Expect(found.MissingHooks(rancher.WorkerTier)).To(ConsistOf("workerDrainOptions.postDrainHooks: " + post))
	})
})

var _ = DescribeTable("Rancher has provisioned a Cluster", func(change func(*clusterv1.Cluster), expected bool) {
	cluster := provisioned("default")
	change(cluster)
	Expect(rancher.Provisions(cluster)).To(Equal(expected))
},
	Entry("with its control plane", func(*clusterv1.Cluster) {}, true),
	Entry("not with another one", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneRef.Kind = "RKE2ControlPlane" }, false),
	Entry("not with one of another group", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneRef.APIGroup = "controlplane.cluster.x-k8s.io" }, false),
	Entry("not without one", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{} }, false),
)

var _ = It("Rancher may own a Machine with its label, and no other", func() {
	machine := &clusterv1.Machine{}
	Expect(rancher.MayOwn(machine)).To(BeFalse())
	machine.Labels = map[string]string{"rke.cattle.io/cluster-name": "c"}
	Expect(rancher.MayOwn(machine)).To(BeTrue())
})

var _ = DescribeTable("A Machine is of the tier", func(label string, expected rancher.Tier) {
	machine := &clusterv1.Machine{}
	machine.Labels = map[string]string{label: "true"}
	Expect(rancher.TierOf(machine)).To(Equal(expected))
},
	Entry("of control planes", clusterv1.MachineControlPlaneLabel, rancher.ControlPlaneTier),
	Entry("of control planes, if it has etcd only", "rke.cattle.io/etcd-role", rancher.ControlPlaneTier),
	Entry("of workers", "rke.cattle.io/worker-role", rancher.WorkerTier),
)
