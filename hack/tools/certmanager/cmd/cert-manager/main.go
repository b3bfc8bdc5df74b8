// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cert-manager runs the controllers of cert-manager that a Cluster API management cluster needs, in one process:
// those of Certificates with issuers of type SelfSigned and CA, and the injector of certificate authorities. They are
// cert-manager's own, but for their commands: these are modules without a version.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	// Of its own: controller-runtime has given the default one a flag of this name.
	flags := flag.NewFlagSet("cert-manager", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "Path to the kubeconfig of the cluster.")
	_ = flags.Parse(os.Args[1:]) // exits on an error
	log := klog.Background()
	ctrl.SetLogger(log)
	if err := run(logr.NewContext(ctrl.SetupSignalHandler(), log), *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return issue(ctx, kubeconfig) })
	group.Go(func() error { return inject(ctx, kubeconfig) })
	return group.Wait()
}
