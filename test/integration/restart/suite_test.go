// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restart_test

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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// patience is for something that has to happen soon. After two outages of an API server within two minutes the
	// watches of all managers are opened again up to a minute late: client-go backs off to 30 seconds and adds as much at random.
	patience = 3 * time.Minute
	look     = 50 * time.Millisecond
	// writing is how many seconds writing an image takes where something is to happen meanwhile.
	writing = 3
)

// The suite has one cluster with one worker and a spare host; each spec upgrades the worker.
var (
	theLab  *lab.Lab
	cluster *scenario.Cluster
	// pushed counts the images, for their tags.
	pushed int
)

func TestRestart(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	RunSpecs(t, "Restart", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	theLab, err = lab.Start(ctx, lab.Options{Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(theLab.Stop)
	cluster = scenario.New(theLab, scenario.Options{Workers: 1, Spare: 1})
	cluster.Told = func(command string) { GinkgoWriter.Println("$", command) }
	Expect(cluster.Create(ctx)).To(Succeed())
	Expect(theLab.WorkloadKube.Create(ctx, newWeb())).To(Succeed())
	Expect(cluster.AwaitWeb(ctx)).To(Succeed())
})

// What went wrong is in the attempts and in what the manager says.
var _ = ReportAfterEach(func(ctx SpecContext, report SpecReport) {
	if !report.Failed() || cluster == nil {
		return
	}
	said, err := theLab.Kubectl(ctx, "--namespace", cluster.Namespace(), "get", "elementalhostupgrades,elementalhosts,machines", "--output", "yaml")
	GinkgoWriter.Println(said, err, process.Tail(theLab.Provider.Process.LogFile()))
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

// push makes a new image.
func push(ctx context.Context, os image.OS) image.Image {
	GinkgoHelper()
	pushed++
	made, err := cluster.PushImage(ctx, fmt.Sprintf("r%d", pushed), os)
	Expect(err).NotTo(HaveOccurred())
	return made
}
