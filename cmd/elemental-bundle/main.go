// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command elemental-bundle writes an archive of what somebody needs who is asked for help with the upgrade of a Cluster. It runs where
// kubectl does, with the rights of who runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/bundle"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/scheme"
)

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "elemental-bundle: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	options, kubeconfig, output := bundle.Options{}, "", ""
	flags := pflag.NewFlagSet("elemental-bundle", pflag.ContinueOnError)
	flags.StringVar(&kubeconfig, "kubeconfig", "", "Kubeconfig of the management cluster. Default: as of kubectl.")
	flags.StringVarP(&options.Namespace, "namespace", "n", "default", "Namespace of the Cluster.")
	flags.StringVar(&options.Cluster, "cluster", "", "Name of the Cluster. Required.")
	flags.StringVar(&options.Upgrade, "upgrade", "", "Name of the ElementalClusterUpgrade to collect. Default: all of the Cluster's.")
	flags.StringVar(&options.ManagerNamespace, "manager-namespace", "", "Namespace of the provider's Deployment. Default: all namespaces are searched.")
	flags.StringVar(&options.LogFile, "log-file", "", "Log of a manager that does not run in a Pod. Default: the logs of its Pods are read.")
	flags.DurationVar(&options.Since, "since", 24*time.Hour, "How far back the logs of Pods are read.")
	flags.StringVarP(&output, "output", "o", "elemental-bundle.tar.gz", "File to write, which must not exist.")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("parsing flags: %w", err)
	}
	if options.Cluster == "" {
		return errors.New("--cluster is empty: set it to the name of the Cluster")
	}
	if err := connect(kubeconfig, &options); err != nil {
		return err
	}
	return write(ctx, output, options)
}

func connect(kubeconfig string, options *bundle.Options) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if options.Client, err = client.New(config, client.Options{Scheme: scheme.New()}); err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	if options.Pods, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	return nil
}

func write(ctx context.Context, output string, options bundle.Options) error {
	file, err := os.OpenFile(filepath.Clean(output), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("creating the archive: %w", err)
	}
	if err := bundle.Write(ctx, file, options); err != nil {
		_ = file.Close()
		return fmt.Errorf("writing %s: %w", output, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", output, err)
	}
	fmt.Printf("Wrote %s: look at what it has before you hand it on\n", output)
	return nil
}
