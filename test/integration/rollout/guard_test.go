// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// Cluster API 1.14 deletes a Machine that could have been updated in place when the reference of its
// MachineDeployment changes at the wrong moment. These specs rotate templates by hand, at such moments.
var _ = Describe("A reference that is turned at the wrong moment", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)

	BeforeAll(func(ctx SpecContext) {
		cluster = newCluster(ctx, startLab(ctx, lab.Options{}), scenario.Options{})
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	It("reaches the hosts when it is rotated by hand at a quiet moment", func(ctx SpecContext) {
		wanted := push(ctx, cluster, "hand", image.OS{})
		createTemplate(ctx, cluster, "workers-hand", wanted)
		Expect(pointTo(ctx, cluster, "workers-hand")).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		expectKept(ctx, cluster, before)
	})

	It("deletes no Machine on the way from bad to good and back to bad", func(ctx SpecContext) {
		bad := push(ctx, cluster, "bad", image.OS{Boot: source.BootUnhealthy})
		good := push(ctx, cluster, "good", image.OS{})
		createTemplate(ctx, cluster, "workers-bad", bad)
		createTemplate(ctx, cluster, "workers-good", good)
		Expect(pointTo(ctx, cluster, "workers-bad")).To(Succeed())
		_, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())

		Expect(pointTo(ctx, cluster, "workers-good")).To(Succeed())
		denials := 0
		for _, template := range []string{"workers-bad", "workers-good", "workers-bad", "workers-good"} {
			if err := pointTo(ctx, cluster, template); err != nil {
				Expect(err).To(MatchError(ContainSubstring("infrastructureRef cannot be changed now")))
				denials++
			}
		}
		Expect(denials).To(BeNumerically(">", 0), "the guard was asked at a wrong moment")
		Eventually(pointTo, 2*patience, time.Second).WithContext(ctx).WithArguments(cluster, "workers-good").Should(Succeed())
		Expect(cluster.AwaitImage(ctx, good)).To(Succeed())
		expectKept(ctx, cluster, before)
	})

	It("deletes no Machine when references change within seconds of one another", func(ctx SpecContext) {
		names := []string{"workers-x", "workers-y", "workers-z"}
		var last image.Image
		for _, name := range names {
			last = push(ctx, cluster, name, image.OS{})
			createTemplate(ctx, cluster, name, last)
		}
		for _, name := range names {
			Eventually(pointTo, 2*patience, look).WithContext(ctx).WithArguments(cluster, name).Should(Succeed())
		}
		Expect(cluster.AwaitImage(ctx, last)).To(Succeed())
		expectKept(ctx, cluster, before)
	})
})

// createTemplate makes a template as a person would who rotates by hand.
func createTemplate(ctx context.Context, cluster *scenario.Cluster, name string, os image.Image) {
	GinkgoHelper()
	template := &infrav1.ElementalMachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: name},
		Spec: infrav1.ElementalMachineTemplateSpec{Template: infrav1.ElementalMachineTemplateResource{
			Spec: infrav1.ElementalMachineSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r1"}},
				OSVersionManagement: infrav1.OSVersionManagement{
					infrav1.OSVersionKey: runtime.RawExtension{Raw: []byte(`{"imageUri":"` + os.URI() + `"}`)},
				},
			},
		}},
	}
	Expect(cluster.Lab.Kube.Create(ctx, template)).To(Succeed())
}

// pointTo changes the reference of the MachineDeployment, as kubectl does.
func pointTo(ctx context.Context, cluster *scenario.Cluster, template string) error {
	patch := strings.ReplaceAll(`{"spec":{"template":{"spec":{"infrastructureRef":{"name":"NAME"}}}}}`, "NAME", template)
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "machinedeployment", scenario.Deployment, "--type", "merge", "--patch", patch)
	return err
}
