// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package demodoc_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	labhost "github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	kubernetesVersion = scenario.KubernetesVersion
	controlPlaneHost  = "my-control-plane-host"
)

var hostNames = []string{controlPlaneHost, "my-worker-1", "my-worker-2"}

var _ = Describe("The walk-through", Ordered, func() {
	var (
		p                             *page
		media, initial, next, inPlace image.Image
		// worker is the Machine that remains after the scale-down, spare the host that it freed.
		worker clusterv1.Machine
		spare  string
	)

	BeforeAll(func(ctx SpecContext) {
		p = openPage(ctx, theLab)
		media = push(ctx, "media", "media-version")
		initial = push(ctx, "initial", "initial-version")
		next = push(ctx, "dev-next", "upgraded-version")
		inPlace = push(ctx, "dev-next-in-place", "in-place-upgraded-version")
		p.export("ELEMENTAL_OS_IMAGE="+initial.URI(), fmt.Sprintf("CONTROL_PLANE_ENDPOINT_PORT=%d", theLab.Workload.Port()))
	})

	It("prepares three hosts, from live media, and a manifest", func(ctx SpecContext) {
		p.next(ctx, "kubectl label namespace default")
		createRegistration(ctx, initial)
		Eventually(func(g Gomega) {
			registration := &infrav1.ElementalRegistration{}
			g.Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "my-registration"}, registration)).To(Succeed())
			g.Expect(conditions.IsTrue(registration, clusterv1.ReadyCondition)).To(BeTrue())
		}).WithContext(ctx).Should(Succeed())
		p.next(ctx, "./test/scripts/print_agent_config.sh")
		config, err := os.ReadFile(p.file("iso/my-config.yaml"))
		Expect(err).NotTo(HaveOccurred())
		for _, name := range hostNames {
			_, err := theLab.AddLiveHost(ctx, name, media, config)
			Expect(err).NotTo(HaveOccurred())
		}
		Eventually(freeHosts).WithContext(ctx).Should(ConsistOf(hostNames))
		for _, name := range hostNames {
			Expect(host(ctx, name)).To(And(run(initial), HaveField("Labels", HaveKeyWithValue("serial", labhost.SerialNumber(name)))))
			Expect(calls(name, "install")).To(Equal(1))
			Expect(modes(name)).To(Equal([]string{"live", "active"}))
		}
		Expect(p.next(ctx, "kubectl get elementalhosts")).To(ContainSubstring("initial-version"))

		p.next(ctx, "CONTROL_PLANE_ENDPOINT_HOST=")
		p.next(ctx, "cat > ~/kustomization.yaml")
		p.next(ctx, "kubectl label elementalhost my-control-plane-host")
	})

	It("upgrades a host that serves no Machine immediately", func(ctx SpecContext) {
		p.next(ctx, "kubectl patch elementalhost my-control-plane-host")
		Eventually(host).WithContext(ctx).WithArguments(controlPlaneHost).Should(And(
			run(next), HaveField("Status.OS.Version", "upgraded-version"),
			HaveField("Labels", Not(HaveKey(infrav1.InPlaceUpgradeLabel)))))
		Expect(modes(controlPlaneHost)).To(Equal([]string{"live", "active", "active"}))
		Expect(p.next(ctx, "elemental-agent --version")).To(MatchRegexp(`^Agent version v\S+, commit \S+\n$`))
	})

	It("creates the cluster", func(ctx SpecContext) {
		Expect(theLab.ConnectWorkload(ctx, "default", "kubeadm")).To(Succeed())
		p.next(ctx, "kubectl apply -f ~/kubeadm-cluster-manifest.yaml")
		Eventually(running, 2*specs.Patience).WithContext(ctx).WithArguments(client.MatchingLabels{clusterv1.ClusterNameLabel: "kubeadm"}).
			Should(HaveLen(3))
		p.next(ctx, "kubectl get machines")
		p.nextTree(ctx, "clusterctl describe cluster")
		Expect(host(ctx, controlPlaneHost)).To(And(run(next), HaveField("Spec.MachineRef", Not(BeNil()))))
	})

	It("frees a host by a scale-down", func(ctx SpecContext) {
		p.next(ctx, "kubectl patch machinedeployment kubeadm-md-0")
		Eventually(workers).WithContext(ctx).Should(HaveLen(1))
		Eventually(freeHosts).WithContext(ctx).Should(HaveLen(1))
		free, err := freeHosts(ctx)
		Expect(err).NotTo(HaveOccurred())
		spare = free[0]
		left, err := workers(ctx)
		Expect(err).NotTo(HaveOccurred())
		worker = left[0]
		Expect(strings.Count(p.next(ctx, "kubectl get machines"), pool)).To(BeNumerically(">=", 1))
	})

	It("upgrades the worker in place when the template is patched", func(ctx SpecContext) {
		p.next(ctx, "kubectl patch elementalmachinetemplate kubeadm-md-0")
		Eventually(host, 2*specs.Patience).WithContext(ctx).WithArguments(worker.Status.NodeRef.Name).Should(run(next))
		Eventually(func(ctx context.Context) ([]infrav1.ElementalHostUpgrade, error) {
			list := &infrav1.ElementalHostUpgradeList{}
			err := theLab.Kube.List(ctx, list)
			return list.Items, err
		}).WithContext(ctx).Should(HaveExactElements(HaveField("Status.Phase", infrav1.UpgradeSucceeded)))
		Eventually(workers).WithContext(ctx).Should(HaveExactElements(HaveField("UID", worker.UID)))
		Expect(p.next(ctx, "kubectl get elementalhostupgrades")).To(MatchRegexp(worker.Status.NodeRef.Name + ` +Succeeded`))
		Expect(host(ctx, spare)).To(run(initial), "a host that serves nothing is left alone")
	})

	It("replaces the Machine on a restart of the rollout, using the spare host", func(ctx SpecContext) {
		former := len(theLab.Host(worker.Status.NodeRef.Name).Boots())
		p.next(ctx, "clusterctl alpha rollout restart machinedeployment/kubeadm-md-0")
		Eventually(workers, 2*specs.Patience).WithContext(ctx).Should(HaveExactElements(And(
			HaveField("UID", Not(Equal(worker.UID))), HaveField("Name", Not(Equal(worker.Name))))))
		Expect(theLab.Kube.Get(ctx, client.ObjectKeyFromObject(&worker), &clusterv1.Machine{})).NotTo(Succeed())
		p.next(ctx, "kubectl get machines")

		replaced, err := workers(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(host(ctx, replaced[0].Status.NodeRef.Name)).To(run(next))
		Eventually(freeHosts).WithContext(ctx).Should(HaveLen(1))
		Expect(len(theLab.Host(worker.Status.NodeRef.Name).Boots())).To(BeNumerically(">", former), "its host was reset")
		Expect(calls(worker.Status.NodeRef.Name, "reset")).To(Equal(1))
		Expect(calls(worker.Status.NodeRef.Name, "install")).To(Equal(1), "it did not boot its media again")
	})

	It("upgrades the freed host to the image when the pool is scaled up again", func(ctx SpecContext) {
		p.next(ctx, "kubectl patch machinedeployment kubeadm-md-0")
		Eventually(workers, 2*specs.Patience).WithContext(ctx).Should(HaveLen(2))
		both, err := workers(ctx)
		Expect(err).NotTo(HaveOccurred())
		for i := range both {
			Expect(host(ctx, both[i].Status.NodeRef.Name)).To(run(next))
		}
		worker = both[0]
	})

	It("upgrades one host in place manually", func(ctx SpecContext) {
		name := worker.Status.NodeRef.Name
		p.rename("my-to-be-upgraded-host", name)
		p.rename("my-associated-elemental-machine", worker.Spec.InfrastructureRef.Name)
		boots := len(theLab.Host(name).Boots())

		p.next(ctx, "kubectl patch elementalmachine my-associated-elemental-machine")
		Eventually(host).WithContext(ctx).WithArguments(name).Should(
			haveCondition(infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.InPlaceUpdateNotPendingReason))
		Expect(p.next(ctx, "kubectl describe elementalhost")).To(ContainSubstring("elemental-os:dev-next-in-place"))
		Consistently(func() int { return len(theLab.Host(name).Boots()) }, calm).Should(Equal(boots), "nothing happens yet")

		p.nextOnWorkload(ctx, "kubectl drain --ignore-daemonsets")
		p.next(ctx, "kubectl label elementalhost")
		Eventually(host).WithContext(ctx).WithArguments(name).Should(And(run(inPlace),
			HaveField("Labels", HaveKeyWithValue(infrav1.InPlaceUpgradeLabel, infrav1.InPlaceUpgradeDone)),
			HaveField("Status.OS.Version", "in-place-upgraded-version"),
			haveCondition(infrav1.OSVersionReadyCondition, metav1.ConditionTrue, infrav1.UnmanagedReason)))
		Expect(theLab.Host(name).Boots()).To(HaveLen(boots+1), "it was not replaced")
		p.nextOnWorkload(ctx, "kubectl uncordon")
		p.next(ctx, "elemental-agent --version")
		Expect(p.left).To(BeEmpty(), "the page has come to its end")

		Expect(workers(ctx)).To(ContainElement(HaveField("UID", worker.UID)))
		machine := &infrav1.ElementalMachine{}
		key := client.ObjectKey{Namespace: "default", Name: worker.Spec.InfrastructureRef.Name}
		Eventually(func(g Gomega) {
			g.Expect(theLab.Kube.Get(ctx, key, machine)).To(Succeed())
			g.Expect(machine).To(haveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.TemplateDiffersReason))
		}).WithContext(ctx).Should(Succeed())
	})
})

// createRegistration creates the registration of the hosts, which are installed with an image; their names are assigned
// by their network.
func createRegistration(ctx context.Context, install image.Image) {
	GinkgoHelper()
	registration := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "my-registration"}}
	registration.Spec.Approval = infrav1.ApprovalAuto
	registration.Spec.HostLabels = map[string]string{"serial": "${System Information/Serial Number}"}
	registration.Spec.Config.Elemental.Agent.Hostname.UseExisting = true
	registration.Spec.Config.Elemental.Agent.PostInstall.Reboot = true
	registration.Spec.Config.Elemental.Install = map[string]runtime.RawExtension{
		"device": {Raw: fmt.Appendf(nil, "%q", labhost.LiveDevice)}, "systemUri": {Raw: fmt.Appendf(nil, "%q", install.URI())},
	}
	Expect(theLab.Kube.Create(ctx, registration)).To(Succeed())
}

// calls counts how often a command of the elemental CLI completed on a host.
func calls(name, command string) int {
	GinkgoHelper()
	all, err := theLab.Host(name).Calls()
	Expect(err).NotTo(HaveOccurred())
	count := 0
	for _, call := range all {
		if call.Is("elemental", command) && call.RC == 0 {
			count++
		}
	}
	return count
}

// modes of all boots of a host.
func modes(name string) []string {
	all := []string{}
	for _, boot := range theLab.Host(name).Boots() {
		all = append(all, boot.Mode)
	}
	return all
}

func haveCondition(conditionType string, status metav1.ConditionStatus, reason string) OmegaMatcher {
	return WithTransform(func(object conditions.Getter) string {
		condition := conditions.Get(object, conditionType)
		if condition == nil {
			return "none"
		}
		return string(condition.Status) + "/" + condition.Reason
	}, Equal(string(status)+"/"+reason))
}
