// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/util/flags"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/hostupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/extensionserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
)

// options of the manager. Those that Cluster API's own managers have are spelled as they spell them.
type options struct {
	showVersion bool

	kubeconfig      string
	namespace       string
	watchFilter     string
	concurrency     int
	syncPeriod      time.Duration
	kubeAPIQPS      float32
	kubeAPIBurst    int
	clusterQPS      float32
	clusterBurst    int
	profilerAddress string
	contention      bool
	healthAddress   string
	manager         flags.ManagerOptions

	leaderElection bool
	leaseDuration  time.Duration
	renewDeadline  time.Duration
	retryPeriod    time.Duration
	leaseNamespace string

	webhookPort     int
	webhookCertDir  string
	webhookCertName string
	webhookKeyName  string

	extensionPort int
	// extensionCertDir may be empty, and may not exist.
	extensionCertDir      string
	extensionClientCAFile string
	extensionClientNames  []string

	apiBindAddress string
	apiEndpoint    string
	apiProtocol    string
	apiCertDir     string

	soak time.Duration
}

func (o *options) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.showVersion, "version", false, "Print the version and exit.")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "Kubeconfig of the management cluster. Default: $KUBECONFIG, or the Pod's service account.")
	fs.StringVar(&o.namespace, "namespace", "", "Namespace to watch. Default: all.")
	fs.StringVar(&o.watchFilter, "watch-filter", "", "Value of the label cluster.x-k8s.io/watch-filter that objects must have. Default: any.")
	fs.IntVar(&o.concurrency, "concurrency", 0, "Objects of one kind that are reconciled at the same time. Default: 10 for each processor.")
	fs.DurationVar(&o.syncPeriod, "sync-period", 10*time.Hour, "Interval at which all objects are reconciled although nothing has changed.")
	fs.Float32Var(&o.kubeAPIQPS, "kube-api-qps", -1, "Queries per second to the management cluster. Negative: no limit but the API server's own priority and fairness.")
	fs.IntVar(&o.kubeAPIBurst, "kube-api-burst", 200, "Queries at once to the management cluster, if --kube-api-qps is positive.")
	fs.Float32Var(&o.clusterQPS, "clustercache-client-qps", 20, "Queries per second to each workload cluster.")
	fs.IntVar(&o.clusterBurst, "clustercache-client-burst", 30, "Queries at once to each workload cluster.")
	fs.StringVar(&o.profilerAddress, "profiler-address", "", "Address of the pprof profiler. Default: off.")
	fs.BoolVar(&o.contention, "contention-profiling", false, "Profile what waits for locks, too.")
	fs.StringVar(&o.healthAddress, "health-addr", ":9440", "Address of the health endpoints.")
	flags.AddManagerOptions(fs, &o.manager)
	feature.MutableGates.AddFlag(fs)
	o.addLeaderElectionFlags(fs)
	o.addServerFlags(fs)
	fs.DurationVar(&o.soak, "upgrade-soak", hostupgrade.DefaultSoak, "How long a node has to be Ready after its upgrade before it counts as good.")
}

func (o *options) addLeaderElectionFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.leaderElection, "leader-elect", false, "Elect a leader among several managers. Hooks, webhooks and the Elemental API answer on all of them.")
	fs.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long other managers wait before they take over a lease that is not renewed.")
	fs.DurationVar(&o.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long the leader tries to renew its lease before it gives up.")
	fs.DurationVar(&o.retryPeriod, "leader-elect-retry-period", 2*time.Second, "How long managers wait between tries to get the lease.")
	fs.StringVar(&o.leaseNamespace, "leader-elect-namespace", "", "Namespace of the lease. Default: the Pod's.")
}

func (o *options) addServerFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.webhookPort, "webhook-port", 9443, "Port of the webhooks.")
	fs.StringVar(&o.webhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/", "Directory with certificate and key of the webhooks.")
	fs.StringVar(&o.webhookCertName, "webhook-cert-name", "tls.crt", "File with the certificate in --webhook-cert-dir.")
	fs.StringVar(&o.webhookKeyName, "webhook-key-name", "tls.key", "File with the key in --webhook-cert-dir.")
	o.addExtensionFlags(fs)
	fs.StringVar(&o.apiBindAddress, "elemental-api-bind-address", hostapi.DefaultBindAddress, "Address of the Elemental API that hosts talk to.")
	fs.StringVar(&o.apiEndpoint, "elemental-api-endpoint", "", "Host and port under which hosts reach the Elemental API. Required.")
	fs.StringVar(&o.apiProtocol, "elemental-api-protocol", "https", "Protocol in the registration URIs: https, or http behind a proxy that ends TLS.")
	fs.StringVar(&o.apiCertDir, "elemental-api-cert-dir", "/etc/elemental/ssl", "Directory with ca.crt, tls.crt and tls.key of the Elemental API.")
}

func (o *options) addExtensionFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.extensionPort, "runtime-extension-port", extensionserver.DefaultPort, "Port of the runtime extension.")
	fs.StringVar(&o.extensionCertDir, "extension-cert-dir", "/etc/elemental/extension", "Directory with tls.crt and tls.key of the runtime extension's Service. It may be missing; no request is answered then.")
	fs.StringVar(&o.extensionClientCAFile, "runtime-extension-client-ca-file", "", "File with the PEM-encoded authorities of the client certificates that callers of the runtime extension have to show. While it is missing all callers are refused. Default: none, and callers are not verified.")
	fs.StringSliceVar(&o.extensionClientNames, "runtime-extension-client-names", nil, "Names that such a client certificate may be for: its common name, or one of its DNS names and URIs. Required with --runtime-extension-client-ca-file.")
}

func (o *options) validate() error {
	if err := o.validateExtension(); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(o.apiEndpoint) == "":
		return errors.New("--elemental-api-endpoint is empty: set it to the host and port under which hosts reach the Elemental API")
	case strings.Contains(o.apiEndpoint, "/"):
		return errors.New("--elemental-api-endpoint " + o.apiEndpoint + " is not a host and port: leave out the protocol and the path")
	case o.concurrency < 0:
		return fmt.Errorf("--concurrency is %d: set it to 1 or more, or leave it out", o.concurrency)
	case o.apiProtocol != "https" && o.apiProtocol != "http":
		return errors.New("--elemental-api-protocol " + o.apiProtocol + " is neither https nor http")
	}
	return nil
}

// validateExtension takes names and authority together only: an authority may sign for others than Cluster API, and names that
// nobody checks protect nothing.
func (o *options) validateExtension() error {
	switch {
	case o.extensionPort == o.webhookPort:
		return fmt.Errorf("--runtime-extension-port and --webhook-port are both %d: the API server, which calls webhooks, has no client certificate", o.webhookPort)
	case o.extensionClientCAFile != "" && len(o.extensionClientNames) == 0:
		return errors.New("--runtime-extension-client-names is empty: set it to the common name of Cluster API's client certificates")
	case o.extensionClientCAFile == "" && len(o.extensionClientNames) > 0:
		return errors.New("--runtime-extension-client-ca-file is empty: set it to a file with the authority of Cluster API's client certificates, or leave out --runtime-extension-client-names")
	case slices.Contains(o.extensionClientNames, ""):
		return errors.New("--runtime-extension-client-names has an empty name: leave it out")
	}
	return nil
}

// endpointURL is the base URL of the Elemental API.
func (o *options) endpointURL() string { return o.apiProtocol + "://" + o.apiEndpoint }

// apiCABundle is the CA that hosts are told to trust.
func (o *options) apiCABundle() (string, error) {
	return hostapi.Authorities(o.apiCertDir)
}
