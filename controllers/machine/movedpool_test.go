// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// movedHosts is how many hosts are moved.
const movedHosts = 50

// movedPool is a MachineDeployment whose Machines were all brought to oci://os:v1, at the second attempt.
type movedPool struct {
	*world
	machines []*infrav1.ElementalMachine
	hosts    []*infrav1.ElementalHost
	// reported is the status of each host, as its agent reports it to whichever management cluster it reaches.
	reported []infrav1.ElementalHostStatus
	// drifted is the index of the only host that runs another OS than it was brought to.
	drifted int
	// end of each attempt by its name.
	end map[string]infrav1.UpgradePhase
}

func newMovedPool(ctx SpecContext) *movedPool {
	GinkgoHelper()
	p := &movedPool{world: newWorld(ctx), end: map[string]infrav1.UpgradePhase{}, drifted: -1}
	template := ownertest.Template(p.ns, "t1", "oci://os:v1")
	Expect(server.Client.Create(ctx, template)).To(Succeed())
	Expect(server.Client.Create(ctx, ownertest.Rollout(template, "c1"))).To(Succeed())
	md := ownertest.MachineDeployment(p.ns, "workers", "c1", "t1", movedHosts)
	Expect(server.Client.Create(ctx, md)).To(Succeed())
	set := ownertest.MachineSet(md, "workers-1", "t1", movedHosts)
	Expect(server.Client.Create(ctx, set)).To(Succeed())
	former := []infrav1.UpgradePhase{infrav1.UpgradeFailed, infrav1.UpgradeRolledBack, infrav1.UpgradeAborted}
	for i := range movedHosts {
		name := nameOfMachine(i)
		machine, host := p.running(ctx, name, inPool)
		p.ownedBy(ctx, set, name)
		apiserver.Change(ctx, server.Client, host, func() { // as the controller of hosts does
			hoststate.SetLabel(host, infrav1.InstalledLabel, true)
			hoststate.SetLabel(host, infrav1.BootstrappedLabel, true)
		})
		p.machines, p.hosts = append(p.machines, machine), append(p.hosts, host)
		p.attempt(ctx, i, "t0", former[i%len(former)], time.Now().Add(-2*time.Hour))
	}
	for i, machine := range p.machines {
		second := p.attempt(ctx, i, "t1", infrav1.UpgradeSucceeded, time.Now().Add(-time.Hour))
		if p.drifted < 0 && p.attemptOf(machine.Name, "t0") > second {
			p.drifted = i // neither the names of its attempts nor the times at which the move makes them tell their order
		}
	}
	p.report(ctx, p.hosts[p.drifted], func(s *infrav1.ElementalHostStatus) { s.OS.ImageURI, s.OS.Digest = "oci://os:v0", "sha256:0" })
	for _, host := range p.hosts {
		p.reported = append(p.reported, host.Status)
	}
	Eventually(server.Stored(ctx, p.machines[p.drifted])).Should(apiserver.HaveCondition(infrav1.OSDriftedCondition, metav1.ConditionTrue, infrav1.HostRunsOtherOSReason))
	for _, machine := range p.machines { // written after its conditions
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Annotations", HaveKey(infrav1.OSReachedAnnotation)))
	}
	return p
}

func nameOfMachine(i int) string { return fmt.Sprintf("m%d", i) }

// attempt makes one that has ended, with what its controller notes on it for a move. It returns the attempt's name.
func (p *movedPool) attempt(ctx SpecContext, machine int, template string, end infrav1.UpgradePhase, created time.Time) string {
	GinkgoHelper()
	host, wanted := p.hosts[machine], osversion.OfImage("oci://os:v1")
	name := p.attemptOf(p.machines[machine].Name, template)
	made := &infrav1.ElementalHostUpgrade{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.ns, Name: name, Finalizers: []string{infrav1.ElementalHostUpgradeFinalizer},
			Annotations: map[string]string{
				infrav1.AttemptAnnotation: name + "/1", infrav1.EndedAnnotation: string(end), infrav1.CreatedAnnotation: created.UTC().Format(time.RFC3339),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: infrav1.GroupVersion.String(), Kind: "ElementalHost", Name: host.Name, UID: host.UID,
			}},
		},
		Spec: infrav1.ElementalHostUpgradeSpec{
			ClusterName: "c1", MachineName: p.machines[machine].Name, ElementalMachineName: p.machines[machine].Name, HostName: host.Name,
			TemplateName: template, RolloutName: template, ImageURI: "oci://os:v1", OSVersionManagement: wanted,
		},
	}
	Expect(server.Client.Create(ctx, made)).To(Succeed())
	apiserver.ChangeStatus(ctx, server.Client, made, func() { made.Status.Attempt, made.Status.Phase, made.Status.Digest = name+"/1", end, "sha256:1" })
	p.end[name] = end
	return name
}

// attemptOf a rollout, which has the name of its template.
func (p *movedPool) attemptOf(machine, template string) string {
	return rollout.UpgradeName(machine, machine, template)
}

// ends are the ids of the attempts, with their ends.
func (p *movedPool) ends() []string {
	all := []string{}
	for name, end := range p.end {
		all = append(all, name+"/1 "+string(end))
	}
	return all
}

// reports stores what the agent of a host reports first.
func (p *movedPool) reports(ctx SpecContext, i int) {
	GinkgoHelper()
	p.report(ctx, p.hosts[i], func(s *infrav1.ElementalHostStatus) { *s = p.reported[i] })
}

// conditions are those of each ElementalMachine, for Eventually.
func (p *movedPool) conditions(ctx context.Context) func() (map[string]map[string]string, error) {
	return func() (map[string]map[string]string, error) {
		list := &infrav1.ElementalMachineList{}
		err := server.Client.List(ctx, list, client.InNamespace(p.ns))
		all := map[string]map[string]string{}
		for i := range list.Items {
			of := map[string]string{}
			for _, c := range list.Items[i].Status.Conditions {
				of[c.Type] = string(c.Status) + "/" + c.Reason + ": " + c.Message
			}
			all[list.Items[i].Name] = of
		}
		return all, err
	}
}

func (p *movedPool) attempts(ctx context.Context) []*infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	list := &infrav1.ElementalHostUpgradeList{}
	Expect(server.Client.List(ctx, list, client.InNamespace(p.ns))).To(Succeed())
	all := []*infrav1.ElementalHostUpgrade{}
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}

// order is that of all attempts by their age.
func (p *movedPool) order(ctx context.Context) []string {
	GinkgoHelper()
	all := p.attempts(ctx)
	slices.SortFunc(all, infrav1.OldestFirst)
	names := []string{}
	for _, attempt := range all {
		names = append(names, attempt.Name)
	}
	return names
}

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}
