// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

func main() {
	keep := pflag.Bool("keep", false, "leave the lab running after the story, until Ctrl-C")
	workers := pflag.Int("workers", 3, "hosts in the cluster")
	vms := pflag.Bool("vms", false, "run virtual machines on the hosts, too: needs 'make tools-kubevirt'")
	single := pflag.Bool("single", false, "a cluster of one host, which is its control plane")
	plan := pflag.Bool("plan", false, "a cluster of three control plane hosts and two pools, which ElementalClusterUpgrades upgrade in an order")
	dir := pflag.String("dir", "", "folder for the lab's files and logs, which is kept (default: a temporary one)")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cluster := scenario.Options{Workers: *workers}
	switch {
	case *single:
		cluster = scenario.Options{ControlPlane: 1, ControlPlaneMaxSurge: 1}
	case *plan:
		cluster = planOptions()
	}
	if err := run(ctx, lab.Options{Progress: os.Stdout, Dir: *dir, KubeVirt: *vms && !*single && !*plan}, cluster, *keep); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo failed: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options lab.Options, cluster scenario.Options, keep bool) error {
	l, err := lab.Start(ctx, options)
	if err != nil {
		return err
	}
	defer l.Stop()
	s := &story{cluster: scenario.New(l, cluster), vms: options.KubeVirt, single: cluster.ControlPlane == 1, plan: cluster.ControlPlane == 3, out: os.Stdout}
	s.cluster.Told = s.command
	failed := s.tell(ctx)
	if keep && ctx.Err() == nil {
		if failed != nil {
			s.title("It went wrong: %v", failed)
		}
		stay(ctx, l, s.cluster.Options.Pools)
	}
	return failed
}

// stay keeps the lab running for the person at the terminal.
func stay(ctx context.Context, l *lab.Lab, pools []scenario.Pool) {
	template := scenario.ControlPlaneTemplate
	if len(pools) > 0 {
		template = pools[0].Name
	}
	fmt.Printf(`
The lab is still running. In another terminal:

  export KUBECONFIG=%s            # management cluster
  export WORKLOAD=%s              # workload cluster
  export PATH=%s/bin/tools:$PATH

  kubectl -n demo get ecu,elementalhostupgrades,elementalhosts,machines
  kubectl -n demo describe machine
  kubectl --kubeconfig $WORKLOAD get nodes,pods -o wide
  kubectl --kubeconfig $WORKLOAD cordon demo-node-2      # then patch: node 2 is left alone, and says so
  kubectl -n demo patch elementalmachinetemplate %s --type merge -p \
    '{"spec":{"template":{"spec":{"osVersionManagement":{"osVersion":{"imageURI":"oci://%s/elemental-os/demo:v2"}}}}}}'

Logs are in %s. Ctrl-C ends the lab.
`, lab.AdminKubeconfig(l.Management), lab.AdminKubeconfig(l.Workload), l.Root(), template, l.Registry.Host(), l.Dir())
	<-ctx.Done()
}
