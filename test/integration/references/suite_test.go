// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// patience is for something that has to happen soon, calm for how long something must not happen.
	patience = 2 * time.Minute
	calm     = 5 * time.Second
	look     = 200 * time.Millisecond
	// writing is how many seconds writing an image takes where something is to happen meanwhile.
	writing = 5
)

// The suite has one cluster with two workers. Each spec begins with a template of a new name, that asks
// for what all hosts run.
var (
	cluster *scenario.Cluster
	workers []scenario.Identity
	// running is the image that all hosts run between specs.
	running image.Image
	// dismissed are the Machines that a spec had deleted on purpose.
	dismissed []string
	// made counts images and templates, for their names.
	made int
)

func TestReferences(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	RunSpecs(t, "References", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	l, err := lab.Start(ctx, lab.Options{Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		defer l.Stop()
		Expect(l.Err()).NotTo(HaveOccurred(), "no process died by itself")
		Expect(audit.Forbidden(written(), lab.ManagerUser)).To(BeEmpty(), "the manager has all the rights it uses")
	})
	cluster = scenario.New(l, scenario.Options{Workers: 2, Spare: 1})
	cluster.Told = func(command string) { GinkgoWriter.Println("$", command) }
	Expect(cluster.Create(ctx)).To(Succeed())
	running = cluster.Image
	workers, err = cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
})

// What went wrong is in the objects and in what the managers say.
var _ = ReportAfterEach(func(ctx SpecContext, report SpecReport) {
	if !report.Failed() || cluster == nil {
		return
	}
	const kinds = "elementalmachinetemplates,machinedeployments,machinesets,machines,elementalmachines,elementalhostupgrades,elementalhosts"
	said, err := cluster.Lab.Kubectl(ctx, "--namespace", cluster.Namespace(), "get", kinds, "--output", "yaml")
	GinkgoWriter.Println(said, err, process.Tail(cluster.Lab.Provider.Process.LogFile()), process.Tail(cluster.Lab.Core.Process.LogFile()))
})

// written are all requests of the management cluster's audit log.
func written() []auditv1.Event {
	GinkgoHelper()
	events, err := audit.Read(cluster.Lab.Management.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	return events
}

// referencesWritten counts our own writes to owners since a moment.
func referencesWritten(since time.Time) int {
	GinkgoHelper()
	count := 0
	for _, event := range written() {
		ref := event.ObjectRef
		if ref != nil && ref.Resource == "machinedeployments" && ref.Subresource == "" && event.User.Username == lab.ManagerUser &&
			audit.IsWrite(event) && audit.Succeeded(event) && !event.StageTimestamp.Time.Before(since) {
			count++
		}
	}
	return count
}

// expectKept asserts what holds for every spec.
func expectKept(ctx context.Context) {
	GinkgoHelper()
	Expect(cluster.Identities(ctx)).To(Equal(workers), "every Machine, Node name and provider ID is the same")
	deleted := slices.DeleteFunc(audit.Deleted(written(), "machines"), func(name string) bool { return slices.Contains(dismissed, name) })
	Expect(deleted).To(BeEmpty(), "no other Machine was deleted")
}

// push makes a new image.
func push(ctx context.Context, os image.OS) image.Image {
	GinkgoHelper()
	made++
	pushed, err := cluster.PushImage(ctx, fmt.Sprintf("r%d", made), os)
	Expect(err).NotTo(HaveOccurred())
	return pushed
}

// atRest makes a template that asks for what all hosts run, and returns its name when all Machines were
// brought to it.
func atRest(ctx context.Context) string {
	GinkgoHelper()
	name := newTemplate(ctx, running)
	Eventually(pointTo, patience, look).WithContext(ctx).WithArguments(name).Should(Succeed())
	Eventually(madeFrom, patience, look).WithContext(ctx).Should(HaveEach(name))
	Expect(cluster.AwaitImage(ctx, running)).To(Succeed())
	return name
}

// reaches waits until all hosts run an image, in place.
func reaches(ctx context.Context, os image.Image) {
	GinkgoHelper()
	Expect(cluster.AwaitImage(ctx, os)).To(Succeed())
	running = os
	expectKept(ctx)
}
