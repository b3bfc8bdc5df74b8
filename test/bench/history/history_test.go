// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	// perHost attempts are kept.
	perHost = 10
	// writers create history at a time.
	writers = 8
	// look is how often the manager's processor time is read; idle is what it may use in that time when it has nothing to do.
	look = 2 * time.Second
	idle = 0.1
)

var _ = It("three nodes are upgraded beside the ended attempts of a fleet", func(ctx SpecContext) {
	cluster := suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{}), scenario.Options{})
	rollOut(ctx, cluster, 0) // the first one fills caches, and is what history is copied from
	costs := []cost{rollOut(ctx, cluster, 0)}
	model, err := cluster.Attempts(ctx)
	Expect(err).NotTo(HaveOccurred())
	addHistory(ctx, cluster, &model[0])
	report(append(costs, rollOut(ctx, cluster, past)))
})

// rollOut a new image to all nodes.
func rollOut(ctx context.Context, cluster *scenario.Cluster, past int) cost {
	GinkgoHelper()
	wanted := suite.Push(ctx, cluster, image.OS{})
	rest(ctx, cluster)
	used, began := sample(ctx, cluster, "process_cpu_seconds_total"), time.Now()
	Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
	Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
	return cost{
		Past: past, Seconds: time.Since(began).Seconds(), CPU: sample(ctx, cluster, "process_cpu_seconds_total") - used,
		Memory: sample(ctx, cluster, "process_resident_memory_bytes") / (1 << 20),
	}
}

// rest waits until the manager has nothing left to do.
func rest(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	last := sample(ctx, cluster, "process_cpu_seconds_total")
	Eventually(func() float64 {
		used := sample(ctx, cluster, "process_cpu_seconds_total") - last
		last += used
		return used
	}).WithPolling(look).MustPassRepeatedly(3).Should(BeNumerically("<", idle))
}

func sample(ctx context.Context, cluster *scenario.Cluster, name string) float64 {
	GinkgoHelper()
	samples, err := cluster.Lab.Metrics(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(samples).To(HaveKey(name))
	return samples[name]
}

// addHistory copies an attempt that has succeeded to the hosts of another cluster in the namespace.
func addHistory(ctx context.Context, cluster *scenario.Cluster, model *infrav1.ElementalHostUpgrade) {
	GinkgoHelper()
	Expect(model.Status.Phase).To(Equal(infrav1.UpgradeSucceeded))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range past {
		group.Go(func() error {
			host := fmt.Sprintf("fleet-node-%d", i/perHost)
			made := &infrav1.ElementalHostUpgrade{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: model.Namespace, Name: fmt.Sprintf("%s-%d", host, i%perHost),
					Labels:      map[string]string{clusterv1.ClusterNameLabel: "fleet", infrav1.MachineNameLabel: host},
					Annotations: map[string]string{infrav1.EndedAnnotation: string(infrav1.UpgradeSucceeded)},
				},
				Spec: *model.Spec.DeepCopy(),
			}
			made.Spec.ClusterName, made.Spec.HostName, made.Spec.MachineName, made.Spec.ElementalMachineName = "fleet", host, host, host
			if err := cluster.Lab.Kube.Create(ctx, made); err != nil {
				return err
			}
			before := made.DeepCopy() // the manager may have seen it by now
			made.Status = *model.Status.DeepCopy()
			made.Status.NodeName = host
			return cluster.Lab.Kube.Status().Patch(ctx, made, client.MergeFrom(before))
		})
	}
	Expect(group.Wait()).To(Succeed())
}
