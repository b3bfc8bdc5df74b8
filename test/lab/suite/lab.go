// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// StartLab starts a lab, which stops when the calling node is cleaned up. It then asserts that no process has exited
// unexpectedly, and that the manager was not denied any permission.
func StartLab(ctx context.Context, options lab.Options) *lab.Lab {
	GinkgoHelper()
	options.Progress = GinkgoWriter
	started, err := lab.Start(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		defer started.Stop()
		Expect(started.Err()).NotTo(HaveOccurred(), "no process died by itself")
		Expect(audit.Forbidden(Audit(started.Management), lab.ManagerUser)).To(BeEmpty(), "the manager has all the rights it uses")
		if options.WorkloadAccount {
			Expect(audit.Forbidden(Audit(started.Workload), started.WorkloadUser())).To(BeEmpty(), "the account of config/workload has all the rights that are used")
		}
	})
	return started
}

// Audit is the audit log of a cluster so far.
func Audit(cluster *kube.Cluster) []auditv1.Event {
	GinkgoHelper()
	events, err := audit.Read(cluster.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	return events
}

// kinds that show how an upgrade went.
const kinds = "elementalclusters,elementalmachinetemplates,elementalmachines,elementalhosts,elementalhostupgrades," +
	"machinedeployments,machinesets,machines"

// TellWhenFailed prints the state of a lab after each spec that fails. It is called when specs are declared; theLab is
// called only after a failure, and may return nil.
func TellWhenFailed(theLab func() *lab.Lab) bool {
	return ReportAfterEach(func(ctx SpecContext, report SpecReport) {
		if l := theLab(); report.Failed() && l != nil {
			Tell(ctx, l)
		}
	})
}

// Tell prints the state of a lab: its objects, and the last lines of its managers' logs.
func Tell(ctx context.Context, l *lab.Lab) {
	said, err := l.Kubectl(ctx, "get", "--all-namespaces", kinds, "--output", "yaml")
	GinkgoWriter.Println(said, err)
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
