// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// patience is for something that has to happen soon, calm for how long something must not happen.
	patience = 2 * time.Minute
	calm     = 3 * time.Second
	look     = 100 * time.Millisecond
	// writing is how many seconds writing an image takes where something is to happen meanwhile.
	writing = 5
)

// The suite has one cluster with one worker and a spare host; each spec upgrades the worker.
var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
	// running is the image that the worker was last upgraded to, and pushed counts the images, for their tags.
	running image.Image
	pushed  int
)

func TestEnds(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	RunSpecs(t, "Ends", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	theLab, err = lab.Start(ctx, lab.Options{Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		defer theLab.Stop()
		Expect(theLab.Err()).NotTo(HaveOccurred(), "no process died by itself")
		events, err := audit.Read(theLab.Management.AuditLog())
		Expect(err).NotTo(HaveOccurred())
		Expect(audit.Forbidden(events, lab.ManagerUser)).To(BeEmpty(), "the manager has all the rights it uses")
	})
	cluster = scenario.New(theLab, scenario.Options{Workers: 1, Spare: 1})
	cluster.Told = func(command string) { GinkgoWriter.Println("$", command) }
	Expect(cluster.Create(ctx)).To(Succeed())
	running = cluster.Image
	Expect(theLab.WorkloadKube.Create(ctx, newWeb())).To(Succeed())
	Expect(cluster.AwaitWeb(ctx)).To(Succeed())
})

// What went wrong is in the objects and in what the manager says.
var _ = ReportAfterEach(func(ctx SpecContext, report SpecReport) {
	if !report.Failed() || cluster == nil {
		return
	}
	const kinds = "elementalhostupgrades,elementalhosts,machines,elementalclusters"
	said, err := theLab.Kubectl(ctx, "--namespace", cluster.Namespace(), "get", kinds, "--output", "yaml")
	GinkgoWriter.Println(said, err, process.Tail(theLab.Provider.Process.LogFile()))
})

// newWeb is what is drained from the worker.
func newWeb() *appsv1.Deployment {
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web", Labels: map[string]string{"app": "web"}}
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](webPods),
		Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
		Template: podTemplate(meta.Labels),
	}}
}

// webPods is how many Pods are drained from the worker.
const webPods = 2

func podTemplate(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/web:1"}}},
	}
}

// push makes a new image.
func push(ctx context.Context, os image.OS) image.Image {
	GinkgoHelper()
	pushed++
	made, err := cluster.PushImage(ctx, fmt.Sprintf("e%d", pushed), os)
	Expect(err).NotTo(HaveOccurred())
	return made
}
