// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/fleet"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// pools of each Cluster are MachineDeployments of one node, so that a patch of one upgrades one node.
var pools = [2]string{"first", "second"}

const (
	// makers is the number of Clusters that are created concurrently.
	makers = 4
	// patience is the timeout for a Cluster that is created concurrently with many others.
	patience = 10 * time.Minute
)

// site is a Cluster with a link to its workload cluster.
type site struct {
	cluster *scenario.Cluster
	link    *process.Link
	hosts   *fleet.Fleet
}

func (s *site) name() string { return s.cluster.Options.Name }

// ask requests an image, as an operator does.
func (s *site) ask(ctx context.Context, pool, wanted string) error {
	template := &infrav1.ElementalMachineTemplate{}
	template.Namespace, template.Name = s.cluster.Namespace(), pool
	patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"osVersionManagement":{"osVersion":{"imageURI":%q}}}}}}`, wanted)
	return s.cluster.Lab.Kube.Patch(ctx, template, client.RawPatch(types.MergePatchType, patch))
}

// newSites creates Clusters and waits until their Machines run.
func (b *bench) newSites(ctx context.Context, count int) []*site {
	GinkgoHelper()
	sites := make([]*site, count)
	for i := range sites {
		link, err := process.NewLink(b.lab.Workload.Port())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(link.Close)
		sites[i] = &site{link: link}
		sites[i].cluster = b.newCluster(sites[i], fmt.Sprintf("site-%d", i+1))
	}
	making, ctx := errgroup.WithContext(ctx)
	making.SetLimit(makers)
	for _, one := range sites {
		making.Go(func() error { return one.cluster.Create(ctx) })
	}
	DeferCleanup(func() {
		for _, one := range sites {
			if one.hosts != nil {
				one.hosts.Close()
			}
		}
	})
	Expect(making.Wait()).To(Succeed())
	return sites
}

func (b *bench) newCluster(of *site, name string) *scenario.Cluster {
	options := scenario.Options{
		Name: name, Patience: patience,
		Workload: &lab.Workload{Cluster: b.lab.Workload.Through(of.link.Port()), Kube: b.lab.WorkloadKube},
		Hosts: func(_ context.Context, c *scenario.Cluster, agentConfig []byte) error {
			return of.addHosts(c, agentConfig)
		},
	}
	for _, pool := range pools {
		options.Pools = append(options.Pools, scenario.Pool{Name: pool, Workers: 1})
	}
	return scenario.New(b.lab, options)
}

// addHosts simulates the hosts of a Cluster, which do not use its link to the workload cluster.
func (s *site) addHosts(c *scenario.Cluster, agentConfig []byte) error {
	config, err := c.Lab.Workload.RESTConfig("kubelets")
	if err != nil {
		return err
	}
	s.hosts, err = fleet.New(fleet.Options{
		Dir: filepath.Join(c.Lab.Dir(), "fleet"), Config: agentConfig, Workload: config,
		Image: c.Image.URI(), KubeletVersion: scenario.KubernetesVersion,
	})
	if err != nil {
		return err
	}
	for n := range c.Options.Workers {
		if err := s.hosts.Add(c.HostName(n + 1)); err != nil {
			return err
		}
	}
	return nil
}
