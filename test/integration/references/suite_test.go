// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// calm is how long something must not happen.
const calm = 5 * time.Second

// The suite has one cluster with two workers. Each spec begins with a template of a new name, with the
// image that all hosts run.
var (
	cluster *scenario.Cluster
	workers []scenario.Identity
	// running is the image that all hosts run between specs.
	running image.Image
	// dismissed are the Machines that a spec has deleted on purpose.
	dismissed []string
	// made counts images and templates, for their names.
	made int
)

func TestReferences(t *testing.T) {
	specs.Run(t, "References")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	l := suite.StartLab(ctx, lab.Options{})
	cluster = suite.NewCluster(ctx, l, scenario.Options{Workers: 2, Spare: 1})
	var err error
	running = cluster.Image
	workers, err = cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
})

// written are all requests in the management cluster's audit log.
func written() []auditv1.Event {
	GinkgoHelper()
	events, err := audit.Read(cluster.Lab.Management.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	return events
}

// referencesWritten counts this provider's writes to owners since a time.
func referencesWritten(since time.Time) int {
	GinkgoHelper()
	count := 0
	for _, event := range written() {
		ref := event.ObjectRef
		if ref != nil && ref.Resource == "machinedeployments" && ref.Subresource == "" && event.User.Username == lab.ManagerUser &&
			audit.IsWrite(event) && audit.Succeeded(event) && !event.StageTimestamp.Time.Before(since) &&
			bytes.Contains(event.RequestObject.Raw, []byte("infrastructureRef")) {
			count++
		}
	}
	return count
}

// expectKept asserts what must hold after every spec.
func expectKept(ctx context.Context) {
	GinkgoHelper()
	Expect(cluster.Identities(ctx)).To(Equal(workers), "every Machine, Node name and provider ID is the same")
	deleted := slices.DeleteFunc(audit.Deleted(written(), "machines"), func(name string) bool { return slices.Contains(dismissed, name) })
	Expect(deleted).To(BeEmpty(), "no other Machine was deleted")
}

// atRest creates a template with the image that all hosts run, and returns its name once all Machines
// were updated to it.
func atRest(ctx context.Context) string {
	GinkgoHelper()
	name := newTemplate(ctx, running)
	Eventually(pointTo).WithContext(ctx).WithArguments(name).Should(Succeed())
	Eventually(madeFrom).WithContext(ctx).Should(HaveEach(name))
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
