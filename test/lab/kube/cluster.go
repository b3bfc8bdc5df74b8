// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// admins is the group of cluster administrators.
const admins = "system:masters"

// kubeletClient is the API server's user as a client of kubelets, frontProxy its user as a client of aggregated API
// servers.
const (
	kubeletClient = "apiserver-kubelet-client"
	frontProxy    = "front-proxy-client"
)

// Options of a Cluster.
type Options struct {
	// Name of the cluster, in logs and files.
	Name string
	// Dir for its files.
	Dir string
	// Binaries is the folder with etcd, kube-apiserver and the others.
	Binaries string
	// Controllers of kube-controller-manager to run. If empty, it is not started.
	Controllers []string
	// Pods starts kube-scheduler, and kwok if PodStages is set.
	Pods bool
	// PodStages is the file with kwok's stages for Pods. Without it they are left to the kubelets of the Nodes.
	PodStages string
	// PlayedElsewhere selects, by label, the Pods that are not left to kwok. Default: none.
	PlayedElsewhere string
	// Kubelets of the Nodes are real: they join with bootstrap tokens, and have only the rights of their own Node.
	Kubelets bool
	// PodNetwork lets the API server reach Pods that are processes of this machine by their Services: see PodIP. It requires
	// Linux, where all of 127.0.0.0/8 is this machine.
	PodNetwork bool
	// Address of this machine at which Pods on Nodes with a network of their own reach the API server; they get tokens of their
	// ServiceAccounts. Default 127.0.0.1, without tokens: Pods are processes of this machine or do not run.
	Address string
	// Services is the network of ClusterIPs. Default 10.0.0.0/24.
	Services string
	// Died is called when a process exits unexpectedly.
	Died func(failure error)
}

// Cluster is a running Kubernetes control plane.
type Cluster struct {
	options   Options
	port      int
	authority *pki.Authority
	processes []*process.Process
	etcd      *process.Process
	etcdURL   string
	// network connects the API server to Pods; nil without Options.PodNetwork.
	network *process.Proxy
	// APIServer can be killed and restarted.
	APIServer *process.Process
}

// Start starts a cluster and returns when its API server is ready.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	options.Services = cmp.Or(options.Services, "10.0.0.0/24")
	c := &Cluster{options: options}
	for _, step := range []func(context.Context) error{
		c.makeCertificates, c.startEtcdAndAPIServer, c.startControllerManager, c.startPods,
	} {
		if err := step(ctx); err != nil {
			c.Stop()
			return nil, fmt.Errorf("starting the %s cluster: %w", options.Name, err)
		}
	}
	return c, nil
}

// Stop stops all processes in reverse order of their dependencies.
func (c *Cluster) Stop() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].Stop()
	}
	if c.network != nil {
		c.network.Close()
	}
}

// Processes of the cluster.
func (c *Cluster) Processes() []*process.Process { return c.processes }

// Name of the cluster.
func (c *Cluster) Name() string { return c.options.Name }

// Host of the API server.
func (c *Cluster) Host() string { return cmp.Or(c.options.Address, "127.0.0.1") }

// Port of the API server.
func (c *Cluster) Port() int { return c.port }

// URL of the API server.
func (c *Cluster) URL() string { return fmt.Sprintf("https://%s:%d", c.Host(), c.port) }

// ServiceName is the host:port by which processes that use a process.Proxy reach the API server. It differs for each
// cluster of a lab.
func (c *Cluster) ServiceName() string { return fmt.Sprintf("kubernetes.default.svc:%d", c.port) }

// ByService replaces the API server in a kubeconfig of the cluster by its ServiceName.
func (c *Cluster) ByService(kubeconfig []byte) []byte {
	return bytes.ReplaceAll(kubeconfig, []byte(c.URL()), []byte("https://"+c.ServiceName()))
}

// Authority signs the cluster's certificates.
func (c *Cluster) Authority() *pki.Authority { return c.authority }

// AuditLog is the file of the API server's audit log.
func (c *Cluster) AuditLog() string { return c.path("audit.log") }

// Through is the cluster reached through another loopback port.
func (c *Cluster) Through(port int) *Cluster {
	through := *c
	through.port = port
	return &through
}

func (c *Cluster) path(name string) string { return filepath.Join(c.options.Dir, name) }

func (c *Cluster) makeCertificates(context.Context) error {
	var err error
	if c.authority, err = pki.NewAuthority(c.options.Name + "-ca"); err != nil {
		return err
	}
	services, err := netip.ParsePrefix(c.options.Services)
	if err != nil {
		return fmt.Errorf("reading the network of Services: %w", err)
	}
	server, err := c.authority.Server("kube-apiserver", "kubernetes.default.svc", c.Host(), services.Addr().Next().String())
	if err != nil {
		return err
	}
	if err := c.authority.WriteServing(c.path("tls"), server); err != nil {
		return err
	}
	files := map[string][]byte{"ca.key": c.authority.KeyPEM}
	for file, identity := range map[string]struct {
		user   string
		groups []string
	}{
		kubeletClient: {"kube-" + kubeletClient, []string{admins}},
		frontProxy:    {frontProxy, nil},
	} {
		client, err := c.authority.Client(identity.user, identity.groups...)
		if err != nil {
			return err
		}
		files[file+".crt"], files[file+".key"] = client.CertPEM, client.KeyPEM
	}
	return pki.WriteFiles(c.path("tls"), files)
}

// tls is a file among the cluster's certificates.
func (c *Cluster) tls(name string) string { return filepath.Join(c.path("tls"), name) }

// CAFile is a file with the certificate of the cluster's authority.
func (c *Cluster) CAFile() string { return c.tls("ca.crt") }

// Kubeconfig creates a kubeconfig for a user of the group system:masters. The user's name appears in the audit log.
func (c *Cluster) Kubeconfig(user string) ([]byte, error) { return c.kubeconfig(user, admins) }

func (c *Cluster) kubeconfig(user string, groups ...string) ([]byte, error) {
	pair, err := c.authority.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	config := newKubeconfig(c.options.Name, c.URL(), user, c.authority.CertPEM, pair)
	encoded, err := clientcmd.Write(config)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig of %s: %w", user, err)
	}
	return encoded, nil
}

// WriteKubeconfig writes a kubeconfig for a user of the group system:masters beside the cluster's other files.
func (c *Cluster) WriteKubeconfig(user string) (string, error) {
	return c.writeKubeconfig(user, user, admins)
}

// WriteUserKubeconfig does the same for a process whose user has only the permissions granted to its name. The file and
// a group of the user have the process's name, by which the audit log distinguishes processes of one user.
func (c *Cluster) WriteUserKubeconfig(user, process string) (string, error) {
	return c.writeKubeconfig(process, user, process)
}

func (c *Cluster) writeKubeconfig(name, user string, groups ...string) (string, error) {
	content, err := c.kubeconfig(user, groups...)
	if err != nil {
		return "", err
	}
	file := c.path(name + ".kubeconfig")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return "", fmt.Errorf("writing the kubeconfig of %s: %w", user, err)
	}
	return file, nil
}

// RESTConfig of a user of the group system:masters, without a rate limit.
func (c *Cluster) RESTConfig(user string) (*rest.Config, error) { return c.restConfig(user, admins) }

// UserRESTConfig does the same for a user that has only the permissions granted to its name.
func (c *Cluster) UserRESTConfig(user string) (*rest.Config, error) { return c.restConfig(user) }

func (c *Cluster) restConfig(user string, groups ...string) (*rest.Config, error) {
	content, err := c.kubeconfig(user, groups...)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %s: %w", user, err)
	}
	config.QPS, config.UserAgent = -1, user
	return config, nil
}

// clientTLS trusts the cluster's CA and has a client certificate of it.
func (c *Cluster) clientTLS(user string) (*tls.Config, error) {
	pair, err := c.authority.Client(user, admins)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of %s: %w", user, err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.authority.CertPEM)
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}
