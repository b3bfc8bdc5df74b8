// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	_ "time/tzdata" // the zones of windows; the manager's image has none

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/version"
)

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "manager: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	options, logOptions := &options{}, logs.NewOptions()
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	options.addFlags(flags)
	logsv1.AddFlags(logOptions, flags)
	if err := flags.Set("v", "2"); err != nil {
		return fmt.Errorf("setting the default log level: %w", err)
	}
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("parsing flags: %w", err)
	}
	if options.showVersion {
		fmt.Printf("Manager version %s, commit %s\n", version.Version, version.Commit)
		return nil
	}
	if err := logsv1.ValidateAndApply(logOptions, nil); err != nil {
		return fmt.Errorf("configuring logs: %w", err)
	}
	ctrl.SetLogger(klog.Background())
	if err := options.validate(); err != nil {
		return err
	}
	mgr, err := newManager(ctx, options)
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Starting manager", "version", version.Version, "commit", version.Commit)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}
