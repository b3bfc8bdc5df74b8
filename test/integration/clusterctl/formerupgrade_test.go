// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"context"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("clusterctl upgrade from version 0.7, with a cluster whose hosts still run agents of 0.7", Ordered, func() {
	var (
		cluster  *formerCluster
		before   map[string]string
		pinned   []byte
		agents   []*formerAgent
		upgrades metav1.Time
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = newFormerCluster(ctx, startFormerPlane(ctx))
		before = cluster.identities(ctx)
		secret, err := cluster.secret(ctx, authoritySecret)
		Expect(err).NotTo(HaveOccurred())
		pinned = secret.Data["tls.crt"]
	})

	get := func(ctx context.Context, object client.Object, name string) {
		GinkgoHelper()
		Expect(cluster.Kube.Get(ctx, client.ObjectKey{Namespace: formerNamespace, Name: name}, object)).To(Succeed())
	}
	hosts := func(ctx context.Context) func() ([]infrav1.ElementalHost, error) {
		return func() ([]infrav1.ElementalHost, error) {
			list := &infrav1.ElementalHostList{}
			return list.Items, cluster.Kube.List(ctx, list, client.InNamespace(formerNamespace))
		}
	}

	It("is offered by plan, as docs/migration.md shows", func(ctx SpecContext) {
		said := cluster.ctl(ctx, "upgrade", "plan")
		Expect(said).To(MatchRegexp(`(?m)^infrastructure-elemental +.* ` + formerTag + ` +` + tag + `$`))
		Expect(page("migration.md")).To(ContainSubstring(strings.TrimSpace(said)))
	})

	It("is carried out by apply, and followed by the installation of the runtime extension", func(ctx SpecContext) {
		upgrades = metav1.Now()
		cluster.ctl(ctx, "upgrade", "apply", "--infrastructure", "elemental:"+tag)
		Expect(page("migration.md")).To(ContainSubstring(withoutDeprecation(cluster.told)))
		cluster.ctl(ctx, "init", "--runtime-extension", "elemental:"+tag)
		Expect(page("migration.md")).To(ContainSubstring(cluster.told))
		Expect(cluster.forgetWebhooks(ctx)).To(Succeed())

		said := cluster.kubectl(ctx, "get", "providers.clusterctl.cluster.x-k8s.io", "--namespace", lab.ManagerNamespace)
		Expect(said).To(And(MatchRegexp("infrastructure-elemental .*"+tag), MatchRegexp("runtime-extension-elemental .*"+tag)))
		for kind := range formerKinds {
			Expect(contracts(ctx, cluster, kind)).To(Equal(map[string]string{"v1beta1": "v1beta1", "v1beta2": "v1beta1"}), kind)
		}
		Expect(cluster.kubectl(ctx, "get", "deployments,services", "--namespace", lab.ManagerNamespace, "--output", "name")).To(And(
			ContainSubstring("deployment.apps/elemental-controller-manager"), ContainSubstring("service/elemental-api"),
			Not(ContainSubstring("service/elemental-controller-manager"))))
	})

	It("keeps the CA that hosts pin, and signs the certificate of the Elemental API with it", func(ctx SpecContext) {
		Eventually(func(g Gomega) {
			issued, err := cluster.secret(ctx, apiSecret)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(issued.Data).To(HaveKeyWithValue("ca.crt", pinned))
		}).WithContext(ctx).Should(Succeed())
		expectServes(ctx, cluster.plane, apiSecret, apiName, pinned)
		By("cert-manager refuses to replace the key of 0.7, which has another algorithm than the components ask for")
		Eventually(func() (string, error) {
			return cluster.Kubectl(ctx, "get", "events", "--namespace", lab.ManagerNamespace, "--field-selector", "reason=CannotRegenerateKey", "--output", "name")
		}).WithContext(ctx).ShouldNot(BeEmpty())
		Expect(cluster.secret(ctx, authoritySecret)).To(HaveField("Data", HaveKeyWithValue("tls.crt", pinned)))
	})

	It("keeps every object and what it refers to, and resets and deletes nothing", func(ctx SpecContext) {
		Eventually(cluster.secretExists(hooksSecret)).WithContext(ctx).Should(BeTrue())
		Expect(cluster.mountCertificate(ctx)).To(Succeed())
		Expect(cluster.StartProvider(ctx)).To(Succeed())
		for name := range cluster.keys {
			agents = append(agents, startFormerAgent(cluster.hostClient(name)))
		}
		Eventually(hosts(ctx)).WithContext(ctx).Should(HaveEach(HaveField("Status.Agent.Outdated", BeTrue())))
		for _, agent := range agents {
			Expect(agent.last.Load()).To(BeEquivalentTo(http.StatusGone))
		}
		cluster.expectKept(ctx, before)
		Expect(hosts(ctx)()).To(HaveEach(HaveField("Labels", And(
			HaveKeyWithValue(infrav1.InstalledLabel, "true"), HaveKeyWithValue(infrav1.BootstrappedLabel, "true"),
			Not(HaveKey(infrav1.NeedsResetLabel)), Not(HaveKey(infrav1.ResetLabel))))))
		for _, event := range suite.Audit(cluster.Management) {
			Expect(deletesOurs(event, upgrades)).To(BeFalse(), event.RequestURI)
		}
	})

	It("has the conditions of this version on every object", func(ctx SpecContext) {
		Eventually(func(g Gomega) {
			elemental, registration := &infrav1.ElementalCluster{}, &infrav1.ElementalRegistration{}
			get(ctx, elemental, "shop")
			get(ctx, registration, formerRegistration)
			g.Expect(elemental.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
			g.Expect(elemental.Status.Conditions).To(all(infrav1.ControlPlaneEndpointReadyCondition))
			g.Expect(registration.Status.Conditions).To(all(infrav1.RegistrationTokenReadyCondition))
			machines := &infrav1.ElementalMachineList{}
			g.Expect(cluster.Kube.List(ctx, machines, client.InNamespace(formerNamespace))).To(Succeed())
			for i := range machines.Items {
				g.Expect(machines.Items[i].Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
				g.Expect(machines.Items[i].Status.Conditions).To(all(
					clusterv1.ReadyCondition, infrav1.AssociationReadyCondition, infrav1.HostReadyCondition, infrav1.ProviderIDReadyCondition))
			}
			for _, host := range must(hosts(ctx)) {
				g.Expect(host.Status.Conditions).To(all(
					infrav1.RegistrationReadyCondition, infrav1.InstallationReadyCondition, infrav1.BootstrapReadyCondition, infrav1.AgentOutdatedCondition))
				g.Expect(conditions.GetMessage(&host, infrav1.AgentOutdatedCondition)).To(ContainSubstring("elemental-agent " + formerTag))
				g.Expect(conditions.GetReason(&host, infrav1.ApprovedCondition)).To(Equal(infrav1.WaitingForApprovalReason))
				g.Expect(host.Annotations).To(HaveKeyWithValue(infrav1.RegistrationNameAnnotation, formerRegistration))
				g.Expect(host.OwnerReferences).To(BeEmpty(), "it outlives its registration")
			}
		}).WithContext(ctx).Should(Succeed())
		list := &clusterv1.MachineList{}
		Expect(cluster.Kube.List(ctx, list, client.InNamespace(formerNamespace))).To(Succeed())
		Expect(list.Items).To(HaveEach(HaveField("Status.Phase", "Running")))
	})

	It("ends for a host when it is approved, and a current agent reports with its key", func(ctx SpecContext) {
		for _, agent := range agents {
			agent.stop()
		}
		cluster.kubectl(ctx, "patch", "elementalhosts", "m-1", "m-2", "--namespace", formerNamespace, "--type", "merge", "--patch", `{"spec":{"approved":true}}`)
		for name := range cluster.keys {
			// An agent whose requests are too many, as those of the former one may have been, reports again.
			Eventually(cluster.hostClient(name).report).WithContext(ctx).Should(Equal(http.StatusNoContent))
		}
		Eventually(func(g Gomega) {
			for _, host := range must(hosts(ctx)) {
				g.Expect(host.Status.Agent).To(HaveField("Version", tag))
				g.Expect(conditions.Has(&host, infrav1.AgentOutdatedCondition)).To(BeFalse())
				g.Expect(conditions.IsTrue(&host, clusterv1.ReadyCondition)).To(BeTrue())
			}
		}).WithContext(ctx).Should(Succeed())
		cluster.expectKept(ctx, before)
	})
})

// all are conditions that are True, each with a reason.
func all(types ...string) OmegaMatcher {
	matchers := []OmegaMatcher{HaveEach(HaveField("Reason", Not(BeEmpty())))}
	for _, name := range types {
		matchers = append(matchers, ContainElement(And(HaveField("Type", name), HaveField("Status", metav1.ConditionTrue))))
	}
	return And(matchers...)
}

func must(list func() ([]infrav1.ElementalHost, error)) []infrav1.ElementalHost {
	GinkgoHelper()
	items, err := list()
	Expect(err).NotTo(HaveOccurred())
	Expect(items).NotTo(BeEmpty())
	return items
}

// contracts that a CRD is labelled with, and the versions that implement them.
func contracts(ctx context.Context, c *formerCluster, kind string) map[string]string {
	GinkgoHelper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	Expect(c.Kube.Get(ctx, client.ObjectKey{Name: crdName(kind)}, crd)).To(Succeed())
	found := map[string]string{}
	for _, contract := range []string{"v1beta1", "v1beta2"} {
		if version, labelled := crd.GetLabels()[clusterv1.GroupVersion.Group+"/"+contract]; labelled {
			found[contract] = version
		}
	}
	return found
}

// deletesOurs reports whether a request has deleted an object of the cluster after a point in time, or told a host to reset itself.
func deletesOurs(event auditv1.Event, since metav1.Time) bool {
	return event.ObjectRef != nil && event.ObjectRef.Namespace == formerNamespace && event.Verb == "delete" &&
		event.ObjectRef.Resource != "events" && event.ObjectRef.Resource != "leases" && event.StageTimestamp.After(since.Time)
}
