// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	oldImage = "oci:registry/os:1"
	newImage = "oci:registry/os:2"
)

// worker is a Machine "m" of MachineDeployment "md" in cluster "c", on host "h" that runs oldImage, and
// is asked to run newImage of template "new".
type worker struct {
	namespace string
	host      *infrav1.ElementalHost
	machine   *clusterv1.Machine
	elemental *infrav1.ElementalMachine
	md        *clusterv1.MachineDeployment
}

func newWorker() *worker {
	GinkgoHelper()
	w := &worker{namespace: plane.NewNamespace(ctx, optIn)}
	cluster, elementalCluster := ownertest.Cluster(w.namespace, "c", infrav1.NodeUpgradeOption{MaxConcurrent: 7})
	w.md = ownertest.MachineDeployment(w.namespace, "md", "c", "new", 1)
	plane.Create(ctx, cluster, elementalCluster, w.md, ownertest.Template(w.namespace, "new", newImage))
	set := ownertest.MachineSet(w.md, "ms", "new", 1)
	plane.Create(ctx, set)
	w.machine = ownertest.Machine(set, "m")
	w.machine.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
	w.host = &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "h"}}
	w.host.Spec.MachineRef = &infrav1.LocalReference{Name: "m"}
	plane.Create(ctx, w.machine, w.host)
	w.boots(infrav1.HostOS{ImageURI: oldImage, BootMode: "active"})
	w.elemental = ownertest.ElementalMachine(w.namespace, "m", "new", newImage)
	w.elemental.Spec.HostRef = &infrav1.LocalReference{Name: "h"}
	w.elemental.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: w.machine.Name, UID: w.machine.UID,
	}}
	plane.Create(ctx, w.elemental)
	return w
}

// wants is what the owner wants of all its Machines by now, of a template of its own.
func (w *worker) wants(template *infrav1.ElementalMachineTemplate) {
	GinkgoHelper()
	plane.Create(ctx, template)
	w.md.Spec.Template.Spec.InfrastructureRef.Name = template.Name
	Expect(c.Update(ctx, w.md)).To(Succeed())
}

func (w *worker) boots(os infrav1.HostOS) {
	GinkgoHelper()
	w.host.Status.OS, w.host.Status.Phase, w.host.Status.Agent.Version = os, infrav1.HostPhaseRunning, "v0.8.0"
	Expect(c.Status().Update(ctx, w.host)).To(Succeed())
}

// call stores the ElementalMachine as it is by now, and asks for that, as Cluster API does.
func (w *worker) call() *runtimehooksv1.UpdateMachineResponse {
	GinkgoHelper()
	Expect(c.Update(ctx, w.elemental)).To(Succeed())
	if !w.elemental.Spec.OSVersionManagement.IsZero() {
		w.rollsOut()
	}
	return ask(w.machine, w.elemental)
}

// rollsOut what the machine specifies to its Cluster, as the controller of templates records it.
func (w *worker) rollsOut() *infrav1.ElementalRollout {
	GinkgoHelper()
	template := ownertest.Template(w.namespace, owner.MadeFrom(w.elemental), "")
	template.Spec.Template.Spec.OSVersionManagement = w.elemental.Spec.OSVersionManagement
	all, err := rollout.OfTemplate(ctx, c, w.namespace, template.Name)
	Expect(err).NotTo(HaveOccurred())
	if of := rollout.Current(all, "c", w.elemental.Spec.OSVersionManagement); of != nil {
		return of
	}
	options, _, err := owner.ClusterOptions(ctx, c, w.namespace, "c")
	Expect(err).NotTo(HaveOccurred())
	of := rollout.New(template, apiserver.Get(ctx, c, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c"}}), options, all)
	plane.Create(ctx, of)
	return of
}

// pins the rollout to a digest.
func (w *worker) pins(digest string) {
	GinkgoHelper()
	of := w.rollsOut()
	of.Spec.ImageDigest = digest
	Expect(c.Update(ctx, of)).To(Succeed())
}

// attemptName is that of the attempt of the rollout.
func (w *worker) attemptName() string {
	GinkgoHelper()
	return attempts.NameFor(w.machine, w.host.Name, w.rollsOut().Name)
}

// ask sends a request with these objects, whether or not they are what is stored.
func ask(machine *clusterv1.Machine, elemental *infrav1.ElementalMachine) *runtimehooksv1.UpdateMachineResponse {
	GinkgoHelper()
	handlers, _ := newHandlers()
	response := &runtimehooksv1.UpdateMachineResponse{}
	handlers.UpdateMachine(ctx, requestOf(machine, elemental), response)
	return response
}

func requestOf(machine *clusterv1.Machine, elemental *infrav1.ElementalMachine) *runtimehooksv1.UpdateMachineRequest {
	GinkgoHelper()
	elemental = elemental.DeepCopy()
	elemental.TypeMeta = metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "ElementalMachine"}
	return &runtimehooksv1.UpdateMachineRequest{
		Desired: runtimehooksv1.UpdateMachineRequestObjects{Machine: *machine, InfrastructureMachine: raw(elemental)},
	}
}

func (w *worker) upgrades() []infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	list := &infrav1.ElementalHostUpgradeList{}
	Expect(c.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	return list.Items
}

// attempt is the one under the wanted key; it has to exist.
func (w *worker) attempt() *infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	attempt := &infrav1.ElementalHostUpgrade{}
	Expect(c.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: w.attemptName()}, attempt)).To(Succeed())
	return attempt
}

func (w *worker) attemptIs(status infrav1.ElementalHostUpgradeStatus) {
	GinkgoHelper()
	w.call()
	attempt := w.attempt()
	attempt.Status = status
	Expect(c.Status().Update(ctx, attempt)).To(Succeed())
}

var _ = It("UpdateMachine waits for the ManagedOSVersion that the Machine names, and never takes it for nothing", func() {
	w := newWorker()
	w.elemental.Spec.OSVersionManagement = infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ManagedOSVersionName: "v2", ImageURI: oldImage, ResolvedFrom: "v1"}}
	Expect(w.call()).To(beInProgress("Waiting for ManagedOSVersion v2 to be looked up: see the conditions of the ElementalMachine"))
	Expect(w.upgrades()).To(BeEmpty())
	w.elemental.Spec.OSVersionManagement = infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ManagedOSVersionName: "v2", ImageURI: newImage, ResolvedFrom: "v2"}}
	w.call()
	Expect(w.attempt().Spec.ImageURI).To(Equal(newImage))
})

func beDone() OmegaMatcher {
	return And(
		HaveField("Status", runtimehooksv1.ResponseStatusSuccess),
		HaveField("RetryAfterSeconds", int32(0)),
	)
}

func beInProgress(message string) OmegaMatcher {
	return And(
		HaveField("Status", runtimehooksv1.ResponseStatusSuccess),
		HaveField("RetryAfterSeconds", BeNumerically(">", 0)),
		HaveField("Message", message),
	)
}

var _ = Describe("UpdateMachine", func() {
	var w *worker
	BeforeEach(func() { w = newWorker() })

	It("requests one attempt, however often it is called", func() {
		for range 3 {
			Expect(w.call()).To(beInProgress("Upgrade requested"))
		}
		Expect(w.upgrades()).To(HaveLen(1))
		attempt := w.attempt()
		Expect(attempt.Spec).To(And(
			HaveField("ClusterName", "c"), HaveField("MachineName", "m"), HaveField("ElementalMachineName", "m"),
			HaveField("HostName", "h"), HaveField("TemplateName", "new"), HaveField("ImageURI", newImage),
			HaveField("Options.MaxConcurrent", int32(7)),
		))
		Expect(osversion.Same(attempt.Spec.OSVersionManagement, osversion.OfImage(newImage))).To(BeTrue())
		Expect(attempt.Labels).To(And(HaveKeyWithValue(clusterv1.ClusterNameLabel, "c"), HaveKeyWithValue(infrav1.MachineNameLabel, "m")))
		Expect(attempt.OwnerReferences).To(ConsistOf(And(HaveField("Kind", "ElementalHost"), HaveField("UID", w.host.UID), HaveField("BlockOwnerDeletion", BeNil()))))
	})

	It("asks nothing of a host that registered again under the name of the Machine's", func() {
		w.elemental.Spec.HostRef.UID = "former"
		w.host.Spec.MachineRef = nil
		Expect(c.Update(ctx, w.host)).To(Succeed())
		Expect(w.call()).To(beInProgress("ElementalHost h was registered again and is not known to be the host that serves the Machine"))
		Expect(w.upgrades()).To(BeEmpty())
	})

	It("takes the options that were recorded for the rollout before those of today", func() {
		w.rollsOut()
		cluster := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c"}}
		apiserver.Change(ctx, c, cluster, func() { cluster.Spec.NodeUpgradeOption.MaxConcurrent = 2 })
		w.call()
		Expect(w.attempt().Spec.Options.MaxConcurrent).To(Equal(int32(7)))
	})

	It("waits until the rollout is recorded, by which the attempt is known", func() {
		Expect(ask(w.machine, w.elemental)).To(beInProgress("Waiting for the rollout of ElementalMachineTemplate new to Cluster c to be recorded, which nothing is while the template is paused"))
		Expect(w.upgrades()).To(BeEmpty())
	})

	DescribeTable("translates an attempt that goes on or has ended badly",
		func(status infrav1.ElementalHostUpgradeStatus, message string) {
			w.attemptIs(status)
			Expect(w.call()).To(beInProgress(message))
			Expect(w.attempt().Status.Phase).To(Equal(status.Phase), "it is still the same attempt")
		},
		Entry("a step", infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeProgressing, Step: "Drain", StepIndex: 7, StepCount: 14, Message: "Pod a/b"}, "Drain (7/14): Pod a/b"),
		Entry("a step with nothing to say", infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeProgressing, Step: "Drain", StepIndex: 7, StepCount: 14}, "Drain (7/14)"),
		Entry("not acted on yet", infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradePending}, "Upgrade requested"),
		Entry("not acted on for a reason", infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradePending, Message: "paused"}, "paused"),
		Entry("rolled back", infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeRolledBack, Step: "Assess", StepIndex: 10, StepCount: 14, Message: "booted snapshot 1"}, "RolledBack: booted snapshot 1"),
		Entry("failed", infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeFailed, Message: "no space"}, "Failed: no space"),
		Entry("lost", infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeHostLost, Message: "no new boot"}, "HostLost: no new boot"),
		Entry("aborted", infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeAborted, Message: "aborted by a person"}, "Aborted: aborted by a person"),
	)

	Describe("of a host that runs the image already", func() {
		BeforeEach(func() {
			w.boots(infrav1.HostOS{ImageURI: "oci://registry/os:2", BootMode: "active", Digest: "sha256:2"})
		})

		It("is done without an attempt", func() {
			Expect(w.call()).To(beDone())
			Expect(w.upgrades()).To(BeEmpty())
		})
		It("is done when the host fell back to what is wanted again", func() {
			w.boots(infrav1.HostOS{ImageURI: newImage, BootMode: "passive"})
			Expect(w.call()).To(beDone())
			Expect(w.upgrades()).To(BeEmpty())
		})
		DescribeTable("is not done", func(change func()) {
			change()
			Expect(w.call()).To(beInProgress("Upgrade requested"))
		},
			Entry("while the host takes part in an attempt", func() {
				w.host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "x"}
				Expect(c.Update(ctx, w.host)).To(Succeed())
			}),
			Entry("while a person has triggered the host", func() {
				w.host.Labels = map[string]string{infrav1.InPlaceUpgradeLabel: infrav1.InPlaceUpgradePending}
				Expect(c.Update(ctx, w.host)).To(Succeed())
			}),
			Entry("when the host is in its recovery system", func() {
				w.boots(infrav1.HostOS{ImageURI: newImage, BootMode: "recovery"})
			}),
			Entry("when the tag has moved since", func() {
				w.pins("sha256:3")
			}),
			Entry("when the host runs what the image of a former rollout was resolved to", func() {
				former := ownertest.Rollout(ownertest.Template(w.namespace, "new", "oci:registry/os:4"), "c")
				former.Spec.ImageDigest = "sha256:4"
				plane.Create(ctx, former)
				w.boots(infrav1.HostOS{ImageURI: "oci:registry/os:4", Digest: "sha256:4", BootMode: "active"})
			}),
			Entry("when the recovery system is wanted too, which cannot be seen", func() {
				template := ownertest.Template(w.namespace, "with-recovery", newImage)
				template.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ImageURI: "oci:registry/os:2", UpgradeRecovery: ptr.To(true)}}
				w.wants(template)
				w.elemental.Spec.OSVersionManagement = template.Spec.Template.Spec.OSVersionManagement
			}),
			Entry("when something of another OS plugin is wanted too, which cannot be seen", func() {
				template := ownertest.Template(w.namespace, "with-firmware", newImage)
				template.Spec.Template.Spec.OSVersionManagement.Plugins = map[string]runtime.RawExtension{"firmware": {Raw: []byte(`{"version":"2"}`)}}
				w.wants(template)
				w.elemental.Spec.OSVersionManagement = template.Spec.Template.Spec.OSVersionManagement
			}),
		)
		It("waits for another attempt of the Machine", func() {
			other := w.other("other")
			plane.Create(ctx, other)
			Expect(w.call()).To(beInProgress("Waiting for ElementalHostUpgrade other of this Machine to end"))
			other.Status.Phase = infrav1.UpgradeSuperseded
			Expect(c.Status().Update(ctx, other)).To(Succeed())
			Expect(w.call()).To(beDone())
		})
		It("is done although the attempt had failed, unless it left the node cordoned", func() {
			w.boots(infrav1.HostOS{ImageURI: oldImage, BootMode: "active"})
			w.attemptIs(infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeRolledBack, Message: "m"})
			w.boots(infrav1.HostOS{ImageURI: newImage, BootMode: "active"})
			Expect(w.call()).To(beDone())
			attempt := w.attempt()
			Expect(c.Delete(ctx, attempt)).To(Succeed())
			attempt = attempt.DeepCopy()
			attempt.ResourceVersion, attempt.UID = "", ""
			attempt.Spec.Options.OnRollback = infrav1.RollbackKeepCordoned
			plane.Create(ctx, attempt)
			attempt.Status = infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeRolledBack, Message: "m"}
			Expect(c.Status().Update(ctx, attempt)).To(Succeed())
			Expect(w.call()).To(beInProgress("RolledBack: m"))
		})
		It("is not done while the attempt has left the node cordoned because the former OS is not good either", func() {
			w.boots(infrav1.HostOS{ImageURI: oldImage, BootMode: "active"})
			w.attemptIs(infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeRolledBack, Message: "m", Conditions: []metav1.Condition{{
				Type: infrav1.FormerOSHealthyCondition, Status: metav1.ConditionFalse, Reason: infrav1.FormerOSNotGoodReason,
				LastTransitionTime: metav1.Now(),
			}}})
			w.boots(infrav1.HostOS{ImageURI: newImage, BootMode: "active"})
			Expect(w.call()).To(beInProgress("RolledBack: m"))
		})
	})

	It("has nothing to do where the OS is not managed", func() {
		w.elemental.Spec.OSVersionManagement = infrav1.OSVersionManagement{}
		Expect(w.call()).To(beDone())
	})
	DescribeTable("has nothing to do where the OS is not managed, whatever has become of the host:", func(become func()) {
		w.elemental.Spec.OSVersionManagement = infrav1.OSVersionManagement{}
		become()
		Expect(w.call()).To(beDone())
	},
		Entry("it is not recorded", func() { w.elemental.Spec.HostRef = nil }),
		Entry("it is gone", func() { w.elemental.Spec.HostRef = &infrav1.LocalReference{Name: "gone"} }),
		Entry("another has registered under its name", func() {
			w.elemental.Spec.HostRef.UID = "former"
			w.host.Spec.MachineRef = nil
			Expect(c.Update(ctx, w.host)).To(Succeed())
		}),
	)
	It("is not done by the word of a request that the OS is not managed", func() {
		w.elemental.Spec.HostRef = nil
		Expect(c.Update(ctx, w.elemental)).To(Succeed())
		asked := w.elemental.DeepCopy()
		asked.Spec.OSVersionManagement = infrav1.OSVersionManagement{}
		Expect(ask(w.machine, asked)).To(beInProgress("Waiting for an ElementalHost to serve the Machine"))
	})
	It("waits for a host", func() {
		w.elemental.Spec.HostRef = nil
		Expect(w.call()).To(beInProgress("Waiting for an ElementalHost to serve the Machine"))
		w.elemental.Spec.HostRef = &infrav1.LocalReference{Name: "gone"}
		Expect(w.call()).To(beInProgress("ElementalHost gone, which serves the Machine, does not exist"))
	})
	It("fails for a request that makes no sense, naming the field", func() {
		w.elemental.Spec.OSVersionManagement = specs.OS(`{"imageUri":7}`)
		response := ask(w.machine, w.elemental)
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusFailure))
		Expect(response.Message).To(ContainSubstring("osVersionManagement.osVersion"))
	})
})
