// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/fleet"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// Pools of a cluster: the one that is measured, the one whose attempts are copied, and the others.
const pool, modelPool, others = scenario.Deployment, "models", "others"

const (
	// patience is the timeout for a cluster to come up, and for a rollout.
	patience = 45 * time.Minute
	// look is the interval at which Machines, and the manager's metrics, are read.
	look = 2 * time.Second
	// unavailable is greater than slots, so that attempts wait for a slot: one holds it, others are at Admit.
	unavailable, slots = 4, 1
)

// bench is a cluster of simulated hosts.
type bench struct {
	cluster  *scenario.Cluster
	fleet    *fleet.Fleet
	upgraded int
}

func newBench(ctx context.Context, l *lab.Lab, size int) *bench {
	GinkgoHelper()
	b := &bench{upgraded: min(most, size-models)}
	pools := []scenario.Pool{{Name: pool, Workers: b.upgraded}, {Name: modelPool, Workers: models}}
	if left := size - models - b.upgraded; left > 0 {
		pools = append(pools, scenario.Pool{Name: others, Workers: left})
	}
	b.cluster = suite.NewCluster(ctx, l, scenario.Options{
		Pools: pools, Hosts: b.switchOn, Patience: patience, MaxUnavailable: unavailable, MaxConcurrent: slots,
	})
	return b
}

// switchOn powers the hosts on.
func (b *bench) switchOn(_ context.Context, c *scenario.Cluster, agentConfig []byte) error {
	workload, err := c.Workload().RESTConfig("kubelets")
	if err != nil {
		return err
	}
	b.fleet, err = fleet.New(fleet.Options{
		Dir: GinkgoT().TempDir(), Config: agentConfig, Workload: workload, Image: c.Image.URI(), KubeletVersion: scenario.KubernetesVersion,
	})
	if err != nil {
		return err
	}
	DeferCleanup(b.fleet.Close)
	for n := range c.Options.Workers {
		if err := b.fleet.Add(c.HostName(n + 1)); err != nil {
			return err
		}
	}
	return nil
}

// addHistory gives all hosts ended attempts, copied from one that upgraded a host to the image that they run: the
// model's host is upgraded to another image and back.
func (b *bench) addHistory(ctx context.Context) {
	GinkgoHelper()
	for _, wanted := range []image.Image{suite.Push(ctx, b.cluster, image.OS{}), b.cluster.Image} {
		Expect(b.cluster.PatchPool(ctx, modelPool, wanted)).To(Succeed())
		b.awaitImage(ctx, modelPool, wanted)
	}
	attempts := b.attempts(ctx, b.cluster.Image)
	Expect(attempts).To(HaveLen(models))
	hosts, err := b.cluster.Hosts(ctx)
	Expect(err).NotTo(HaveOccurred())
	machines := map[string]string{}
	for i := range hosts {
		Expect(hosts[i].Spec.MachineRef).NotTo(BeNil(), hosts[i].Name)
		machines[hosts[i].Name] = hosts[i].Spec.MachineRef.Name
	}
	Expect(b.cluster.AddHistory(ctx, &attempts[0], b.cluster.Options.Name, machines)).To(Succeed())
}

// attempts for an image, all of which must have succeeded.
func (b *bench) attempts(ctx context.Context, os image.Image) []infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	all, err := b.cluster.Attempts(ctx)
	Expect(err).NotTo(HaveOccurred())
	found := []infrav1.ElementalHostUpgrade{}
	for i := range all {
		if all[i].Spec.ImageURI == os.URI() {
			Expect(all[i].Status.Phase).To(Equal(infrav1.UpgradeSucceeded), all[i].Status.Message)
			found = append(found, all[i])
		}
	}
	return found
}

// awaitImage waits until the hosts of a pool run an image, and Cluster API has completed their updates.
func (b *bench) awaitImage(ctx context.Context, pool string, os image.Image) {
	GinkgoHelper()
	Eventually(b.missing).WithContext(ctx).WithArguments(pool, os).WithTimeout(patience).WithPolling(look).Should(BeEmpty())
}

// missing describes what a pool lacks. It reads only the pool's objects.
func (b *bench) missing(ctx context.Context, pool string, os image.Image) (string, error) {
	machines := &clusterv1.MachineList{}
	err := b.cluster.Lab.Kube.List(ctx, machines, client.InNamespace(b.cluster.Namespace()),
		client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: pool})
	if err != nil {
		return "", err
	}
	for i := range machines.Items {
		machine, host := &machines.Items[i], &infrav1.ElementalHost{}
		key := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Status.NodeRef.Name}
		if err := b.cluster.Lab.Kube.Get(ctx, key, host); err != nil {
			return "", err
		}
		if _, updating := machine.Annotations[clusterv1.UpdateInProgressAnnotation]; updating || host.Status.OS.ImageURI != os.URI() {
			return fmt.Sprintf("Machine %s is %s, and its host runs %s", machine.Name, machine.Status.Phase, host.Status.OS.ImageURI), nil
		}
	}
	all, err := b.cluster.Attempts(ctx)
	for i := range all {
		if all[i].Spec.ImageURI == os.URI() && !all[i].PhaseNow().IsEnd() {
			return fmt.Sprintf("ElementalHostUpgrade %s: %s", all[i].Name, all[i].Status.Message), err
		}
	}
	return "", err
}
