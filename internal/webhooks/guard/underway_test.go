// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("The guard, while the host of a control plane Machine is upgraded", func() {
	var (
		kcp       *controlplanev1.KubeadmControlPlane
		elemental *infrav1.ElementalCluster
		attempt   *infrav1.ElementalHostUpgrade
		machine   *clusterv1.Machine
	)
	begin := func(driver infrav1.UpgradeDriver, phase infrav1.UpgradePhase, edit func(*infrav1.UpgradeSlot)) {
		GinkgoHelper()
		namespace := plane.NewNamespace(ctx)
		cluster, cp := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{})
		elemental, kcp = cp, ownertest.KubeadmControlPlane(namespace, "cp", "c", "t")
		plane.Create(ctx, cluster, elemental, kcp)
		machine = ownertest.ControlPlaneMachine(kcp, "m")
		attempt = &infrav1.ElementalHostUpgrade{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "up"},
			Spec: infrav1.ElementalHostUpgradeSpec{
				ClusterName: "c", MachineName: machine.Name, ElementalMachineName: machine.Name, HostName: "h", Driver: driver,
				ImageURI: "oci://x", OSVersionManagement: osversion.OfImage("oci://x"),
			},
		}
		plane.Create(ctx, machine, attempt)
		attempt.Status.Phase = phase
		Expect(c.Status().Update(ctx, attempt)).To(Succeed())
		slot := infrav1.UpgradeSlot{Attempt: attempts.ID(attempt), Upgrade: attempt.Name, ControlPlane: true}
		edit(&slot)
		elemental.Status.UpgradeSlots = []infrav1.UpgradeSlot{slot}
		Expect(c.Status().Update(ctx, elemental)).To(Succeed())
	}
	change := func(edit func(*controlplanev1.KubeadmControlPlane)) error {
		changed := kcp.DeepCopy()
		edit(changed)
		return c.Patch(ctx, changed, client.MergeFrom(kcp))
	}
	raise := func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Version = "v1.36.4" }
	asItIs := func(*infrav1.UpgradeSlot) {}

	It("denies what would begin a rollout of the control plane, and says which attempt it has to wait for", func() {
		begin(infrav1.DriverDirect, infrav1.UpgradeProgressing, asItIs)
		Expect(change(raise)).To(beDenied("the spec cannot be changed now: ElementalHostUpgrade up upgrades the host of Machine m", "before its host is triggered its spec.cancel ends it"))
		Expect(change(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "other"
		})).NotTo(Succeed())
		Expect(change(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.KubeadmConfigSpec.PreKubeadmCommands = []string{"true"}
		})).NotTo(Succeed())
	})

	It("denies it also right after a change that it lets pass, which the control plane has not acted on yet", func() {
		begin(infrav1.DriverDirect, infrav1.UpgradeProgressing, asItIs)
		kcp.Status.ObservedGeneration = kcp.Generation
		Expect(c.Status().Update(ctx, kcp)).To(Succeed())
		scaled := kcp.DeepCopy()
		scaled.Spec.Replicas = ptr.To[int32](5)
		Expect(c.Patch(ctx, scaled, client.MergeFrom(kcp))).To(Succeed())
		Expect(change(raise)).To(beDenied("the spec cannot be changed now"))
	})

	It("denies what would begin a rollout to an OS that version 0.7 has stored, and no ElementalMachine could take", func() {
		begin(infrav1.DriverDirect, infrav1.UpgradeSucceeded, asItIs)
		template := ownertest.Template(kcp.Namespace, "t", "oci://x")
		plane.Create(ctx, template)
		Expect(change(raise)).To(Succeed())
		kcp = apiserver.Get(ctx, c, kcp)
		plane.WithFormerSchema(ctx, "ElementalMachineTemplate", func() {
			apiserver.Change(ctx, c, template, func() {
				template.Spec.Template.Spec.OSVersionManagement = specs.OS(`{"imageUri":"oci://x","debug":"yes"}`)
			})
		})
		again := func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Version = "v1.36.5" }
		Expect(change(again)).To(beDenied("ElementalMachineTemplate t: spec.template.spec.osVersionManagement.osVersion.debug is of JSON type string", "correct it first"))
		apiserver.Change(ctx, c, template, func() { template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("oci://x") })
		Expect(change(again)).To(Succeed())
	})

	DescribeTable("is not asked about what Cluster API propagates, or scales by", func(edit func(*controlplanev1.KubeadmControlPlane)) {
		begin(infrav1.DriverDirect, infrav1.UpgradeProgressing, asItIs)
		Expect(change(edit)).To(Succeed())
	},
		Entry("replicas", func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Replicas = ptr.To[int32](5) }),
		Entry("its own metadata", func(k *controlplanev1.KubeadmControlPlane) { k.Annotations = map[string]string{"a": "b"} }),
		Entry("metadata of Machines", func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.MachineTemplate.ObjectMeta.Labels = map[string]string{"a": "b"}
		}),
		Entry("how they are drained", func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](60)
		}),
		Entry("how they are remediated", func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Remediation.MaxRetry = ptr.To[int32](3) }),
	)

	It("lets it pass for another control plane of the Cluster, and of one that rolls out a change already", func() {
		begin(infrav1.DriverDirect, infrav1.UpgradeProgressing, asItIs)
		others := ownertest.KubeadmControlPlane(kcp.Namespace, "others", "c", "t")
		plane.Create(ctx, others)
		changed := others.DeepCopy()
		raise(changed)
		Expect(c.Patch(ctx, changed, client.MergeFrom(others))).To(Succeed())

		Expect(change(raise)).NotTo(Succeed())
		before := machine.DeepCopy()
		conditions.Set(machine, metav1.Condition{Type: clusterv1.MachineUpToDateCondition, Status: metav1.ConditionFalse, Reason: "Test"})
		Expect(c.Status().Patch(ctx, machine, client.MergeFrom(before))).To(Succeed())
		Expect(change(raise)).To(Succeed())
	})

	It("denies it for a control plane of any kind", func() {
		begin(infrav1.DriverDirect, infrav1.UpgradeProgressing, asItIs)
		of := ownertest.RKE2ControlPlane(kcp.Namespace, "rke2", "c", "t")
		plane.Create(ctx, of)
		before := machine.DeepCopy()
		machine.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, rke2.GroupVersion.WithKind(rke2.ControlPlaneKind))}
		Expect(c.Patch(ctx, machine, client.MergeFrom(before))).To(Succeed())
		raised := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"version":"v1.37.0+rke2r1"}}`))
		Expect(c.Patch(ctx, of.DeepCopy(), raised)).To(beDenied("ElementalHostUpgrade up upgrades the host of Machine m"))
		changed := of.DeepCopy()
		changed.Spec.RolloutStrategy = nil
		Expect(c.Patch(ctx, changed, client.MergeFrom(of))).To(Succeed(), "which rolls nothing out")
	})

	It("lets its rollout be put off, and denies all else although it is about to roll out: the host may be down by then", func() {
		begin(infrav1.DriverDirect, infrav1.UpgradeProgressing, asItIs)
		before := kcp.DeepCopy()
		after := func(in time.Duration) func(*controlplanev1.KubeadmControlPlane) {
			return func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Rollout.After = metav1.NewTime(time.Now().Add(in)) }
		}
		Expect(change(after(time.Hour))).To(beDenied("the spec cannot be changed now"), "which would fall due before the node serves again")
		Expect(change(after(48 * time.Hour))).To(Succeed())
		clock.SetTime(time.Now().Add(47 * time.Hour))
		DeferCleanup(func() { clock.SetTime(time.Now()) })
		Expect(c.Get(ctx, client.ObjectKeyFromObject(kcp), kcp)).To(Succeed())
		Expect(change(raise)).To(beDenied("the spec cannot be changed now"))
		Expect(change(func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Rollout = before.Spec.Rollout })).To(Succeed())
	})

	DescribeTable("lets it pass", func(driver infrav1.UpgradeDriver, phase infrav1.UpgradePhase, edit func(*infrav1.UpgradeSlot)) {
		begin(driver, phase, edit)
		Expect(change(raise)).To(Succeed())
	},
		Entry("while Cluster API updates the Machine, and knows of it", infrav1.DriverClusterAPI, infrav1.UpgradeProgressing, asItIs),
		Entry("when the attempt has ended", infrav1.DriverDirect, infrav1.UpgradeSucceeded, asItIs),
		Entry("when its host is lost", infrav1.DriverDirect, infrav1.UpgradeHostLost, asItIs),
		Entry("before it has a slot", infrav1.DriverDirect, infrav1.UpgradeProgressing, func(s *infrav1.UpgradeSlot) { s.Attempt, s.Upgrade = "other/1", "other" }),
		Entry("where a former one of its name had it", infrav1.DriverDirect, infrav1.UpgradeProgressing, func(s *infrav1.UpgradeSlot) { s.Attempt = "up/former" }),
	)

	Describe("or of a Machine of a MachineDeployment", func() {
		var md *clusterv1.MachineDeployment
		ofWorker := func(driver infrav1.UpgradeDriver) {
			GinkgoHelper()
			begin(driver, infrav1.UpgradeProgressing, func(s *infrav1.UpgradeSlot) { s.ControlPlane = false })
			md = ownertest.MachineDeployment(kcp.Namespace, "md", "c", "t", 1)
			plane.Create(ctx, md)
			set := ownertest.MachineSet(md, "ms", "t", 1)
			plane.Create(ctx, set)
			before := machine.DeepCopy()
			machine.Labels = set.Labels
			machine.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, clusterv1.GroupVersion.WithKind("MachineSet"))}
			Expect(c.Patch(ctx, machine, client.MergeFrom(before))).To(Succeed())
		}
		changeOf := func(edit func(*clusterv1.MachineDeployment)) error {
			changed := md.DeepCopy()
			edit(changed)
			return c.Patch(ctx, changed, client.MergeFrom(md))
		}

		DescribeTable("denies what would have its Machines replaced", func(edit func(*clusterv1.MachineDeployment)) {
			ofWorker(infrav1.DriverDirect)
			Expect(changeOf(edit)).To(beDenied("spec.rollout.after, the end of strategy OnDelete and, of spec.template.spec, version", "ElementalHostUpgrade up upgrades the host of Machine m"))
		},
			Entry("another version", func(m *clusterv1.MachineDeployment) { m.Spec.Template.Spec.Version = "v1.36.4" }),
			Entry("another bootstrap configuration", func(m *clusterv1.MachineDeployment) {
				m.Spec.Template.Spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfigTemplate", Name: "other",
				}}
			}),
			Entry("another failure domain", func(m *clusterv1.MachineDeployment) { m.Spec.Template.Spec.FailureDomain = "other" }),
			Entry("a moment after which they are replaced", func(m *clusterv1.MachineDeployment) { m.Spec.Rollout.After = metav1.Now() }),
		)

		DescribeTable("lets pass what Cluster API propagates, or scales by", func(edit func(*clusterv1.MachineDeployment)) {
			ofWorker(infrav1.DriverDirect)
			Expect(changeOf(edit)).To(Succeed())
		},
			Entry("replicas", func(m *clusterv1.MachineDeployment) { m.Spec.Replicas = ptr.To[int32](5) }),
			Entry("metadata of Machines", func(m *clusterv1.MachineDeployment) { m.Spec.Template.Annotations = map[string]string{"a": "b"} }),
			Entry("how they are drained", func(m *clusterv1.MachineDeployment) {
				m.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](60)
			}),
			Entry("a moment long after the end of the upgrade", func(m *clusterv1.MachineDeployment) {
				m.Spec.Rollout.After = metav1.NewTime(time.Now().Add(48 * time.Hour))
			}),
			Entry("its strategy", func(m *clusterv1.MachineDeployment) {
				m.Spec.Rollout.Strategy = clusterv1.MachineDeploymentRolloutStrategy{Type: clusterv1.OnDeleteMachineDeploymentStrategyType}
			}),
		)

		It("lets everything pass for one that replaces only Machines that a user deletes, but for the end of that", func() {
			ofWorker(infrav1.DriverDirect)
			strategy := func(kind clusterv1.MachineDeploymentRolloutStrategyType) func(*clusterv1.MachineDeployment) {
				return func(m *clusterv1.MachineDeployment) {
					m.Spec.Rollout.Strategy = clusterv1.MachineDeploymentRolloutStrategy{Type: kind}
				}
			}
			for _, edit := range []func(*clusterv1.MachineDeployment){
				strategy(clusterv1.OnDeleteMachineDeploymentStrategyType), func(m *clusterv1.MachineDeployment) { m.Spec.Template.Spec.Version = "v1.36.4" },
			} {
				Expect(changeOf(edit)).To(Succeed())
				Expect(c.Get(ctx, client.ObjectKeyFromObject(md), md)).To(Succeed())
			}
			Expect(changeOf(strategy(clusterv1.RollingUpdateMachineDeploymentStrategyType))).To(beDenied("the end of strategy OnDelete"))
		})

		It("lets everything pass while Cluster API updates the Machine, or for another MachineDeployment", func() {
			ofWorker(infrav1.DriverClusterAPI)
			Expect(changeOf(func(m *clusterv1.MachineDeployment) { m.Spec.Template.Spec.Version = "v1.36.4" })).To(Succeed())
			ofWorker(infrav1.DriverDirect)
			md = ownertest.MachineDeployment(kcp.Namespace, "other", "c", "t", 1)
			plane.Create(ctx, md)
			Expect(changeOf(func(m *clusterv1.MachineDeployment) { m.Spec.Template.Spec.Version = "v1.36.4" })).To(Succeed())
		})

		It("lets a change be reverted that was there before", func() {
			ofWorker(infrav1.DriverDirect)
			set := &clusterv1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: md.Namespace, Name: "ms"}}
			Expect(c.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
			before := set.DeepCopy()
			set.Spec.Template.Spec.Version = "v1.0.0"
			Expect(c.Patch(ctx, set, client.MergeFrom(before))).To(Succeed())
			Expect(changeOf(func(m *clusterv1.MachineDeployment) { m.Spec.Template.Spec.Version = "v1.0.0" })).To(Succeed())
		})
	})
})
