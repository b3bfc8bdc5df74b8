// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// Intervals at which the specs of a lab poll where they name none: what happens there takes seconds, and each poll is work for
// the machine that the lab shares.
const (
	pollingInterval     = 200 * time.Millisecond
	consistencyInterval = 50 * time.Millisecond
)

// running are the labs that StartLab has started, and that still run; told is whether their state was printed since a spec has failed.
var (
	running []*lab.Lab
	told    bool
)

// A spec that fails prints the state of the labs before it cleans up, or else when it has.
var (
	_ = JustAfterEach(func(ctx SpecContext) { tellOnce(ctx, CurrentSpecReport()) })
	_ = ReportAfterEach(func(ctx SpecContext, report SpecReport) {
		tellOnce(ctx, report)
		told = false
	})
)

func tellOnce(ctx context.Context, of SpecReport) {
	if told || !of.Failed() {
		return
	}
	told = true
	for _, each := range running {
		Tell(ctx, each)
	}
}

// StartLab starts a lab, which stops when the calling node is cleaned up. It then asserts that no process has exited
// unexpectedly, and that the manager was not denied any permission. If a spec fails while the lab runs, the state of the lab is
// printed. From now on specs poll at intervals for labs where they name none, and wait for specs.Patience, whatever specs.Timeout says.
func StartLab(ctx context.Context, options lab.Options) *lab.Lab {
	GinkgoHelper()
	SetDefaultEventuallyTimeout(specs.Patience)
	SetDefaultEventuallyPollingInterval(pollingInterval)
	SetDefaultConsistentlyPollingInterval(consistencyInterval)
	options.Progress = GinkgoWriter
	started, err := lab.Start(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	running = append(running, started)
	DeferCleanup(func(ctx SpecContext) {
		defer started.Stop()
		tellOnce(ctx, CurrentSpecReport()) // it is reported when the lab has stopped
		running = slices.DeleteFunc(running, func(each *lab.Lab) bool { return each == started })
		Expect(started.Err()).NotTo(HaveOccurred(), "no process died by itself")
		Expect(audit.Forbidden(Audit(started.Management), lab.ManagerUser)).To(BeEmpty(), "the manager has all the rights it uses")
		if options.WorkloadAccount {
			Expect(audit.Forbidden(Audit(started.Workload), started.WorkloadUser())).To(BeEmpty(), "the account of config/workload has all the rights that are used")
		}
	})
	return started
}

// KeepsMachines asserts, when the calling node is cleaned up, that no Machine of a lab was ever deleted.
func KeepsMachines(started *lab.Lab) {
	GinkgoHelper()
	DeferCleanup(func() {
		Expect(audit.Deleted(Audit(started.Management), "machines")).To(BeEmpty(), "no Machine was ever deleted")
	})
}

// ExpectOwnersLeftAlone asserts that our manager of a lab has written to no owner of Machines, and that Cluster API has updated no Machine.
func ExpectOwnersLeftAlone(started *lab.Lab) {
	GinkgoHelper()
	for _, event := range Audit(started.Management) {
		if event.ObjectRef == nil || !audit.IsWrite(event) || !audit.Succeeded(event) {
			continue
		}
		isOwner := slices.Contains(audit.Owners, event.ObjectRef.Resource)
		Expect(isOwner && event.User.Username == lab.ManagerUser).To(BeFalse(), "%s %s/%s", event.Verb, event.ObjectRef.Resource, event.ObjectRef.Name)
		if event.RequestObject != nil {
			Expect(string(event.RequestObject.Raw)).NotTo(ContainSubstring(clusterv1.UpdateInProgressAnnotation), "%s of %s", event.ObjectRef.Name, event.User.Username)
		}
	}
}

// Audit is the audit log of a cluster so far.
func Audit(cluster *kube.Cluster) []auditv1.Event {
	GinkgoHelper()
	events, err := audit.Read(cluster.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	return events
}

// kinds that show how an upgrade went.
const kinds = "elementalclusters,elementalmachinetemplates,elementalrollouts,elementalmachines,elementalhosts,elementalhostupgrades," +
	"machinedeployments,machinesets,machines"

// vmKinds show how the nodes of a lab with KubeVirt were evacuated.
const vmKinds = "kubevirts,virtualmachines,virtualmachineinstances,virtualmachineinstancemigrations"

// Tell prints the state of a lab: its objects, and the last lines of its managers' logs.
func Tell(ctx context.Context, l *lab.Lab) {
	said, err := l.Kubectl(ctx, "get", "--all-namespaces", kinds, "--output", "yaml")
	GinkgoWriter.Println(said, err)
	if l.KubeVirt != nil {
		said, err = l.WorkloadKubectl(ctx, "get", "--all-namespaces", vmKinds, "--output", "yaml")
		GinkgoWriter.Println(said, err)
	}
	for _, manager := range l.Managers {
		GinkgoWriter.Println(process.Tail(manager.Process.LogFile()))
	}
	if l.Core != nil {
		GinkgoWriter.Println(process.Tail(l.Core.Process.LogFile()))
	}
	for _, host := range l.Hosts() {
		GinkgoWriter.Println(process.Tail(host.Path("/lab/agent.log")))
	}
}
