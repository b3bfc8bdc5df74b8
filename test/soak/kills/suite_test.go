// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/admission"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// patience is for something that has to happen soon.
	patience = 90 * time.Second
	look     = 50 * time.Millisecond
	blink    = 5 * time.Millisecond

	management = "management"
	workload   = "workload"
)

var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
	// scene is where the side effects pass.
	scene *stage
)

func TestKills(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	RunSpecs(t, "Kills", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	theLab, err = lab.Start(ctx, lab.Options{Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(theLab.Stop)
	cluster = scenario.New(theLab, scenario.Options{Name: "kills", Workers: 1})
	Expect(cluster.Create(ctx)).To(Succeed())
	Expect(theLab.WorkloadKube.Create(ctx, newWeb())).To(Succeed())
	Expect(cluster.AwaitWeb(ctx)).To(Succeed())
	openStage(ctx)
})

// openStage has everything pass the stage that the manager and the agent do.
func openStage(ctx SpecContext) {
	GinkgoHelper()
	host := theLab.Hosts()[0]
	scene = newStage(newVictims(theLab, host), newTable(readEdges(committed)))
	gate, err := admission.Open(scene.write)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gate.Close)
	Expect(gate.Guard(ctx, management, theLab.Management, theLab.Kube, lab.ManagerUser)).To(Succeed())
	Expect(gate.Guard(ctx, workload, theLab.Workload, theLab.WorkloadKube, lab.WorkloadUser)).To(Succeed())
	place, err := rendezvous.Open(host.Path(), scene.call)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(place.Close)
}

var _ = AfterSuite(func() {
	if theLab == nil {
		return
	}
	Expect(theLab.Err()).NotTo(HaveOccurred(), "nothing died but what was killed")
	events, err := audit.Read(theLab.Management.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	Expect(audit.Deleted(events, "machines")).To(BeEmpty())
	Expect(audit.Forbidden(events, lab.ManagerUser)).To(BeEmpty())
})

// What went wrong is in the attempts and in what the manager says.
var _ = ReportAfterEach(func(ctx SpecContext, report SpecReport) {
	if !report.Failed() || cluster == nil {
		return
	}
	said, err := theLab.Kubectl(ctx, "--namespace", cluster.Namespace(), "get", "elementalhostupgrades,elementalhosts,machines", "--output", "yaml")
	GinkgoWriter.Println(said, err, process.Tail(theLab.Provider.Process.LogFile()), process.Tail(theLab.Hosts()[0].Path("/lab/agent.log")))
})

// newWeb is what is drained from the worker.
func newWeb() *appsv1.Deployment {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: map[string]string{"app": "web"}}
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2),
		Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example.com/web:1"}}},
		},
	}}
}
