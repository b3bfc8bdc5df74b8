// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// auditPolicy records every write, and those that tests use with their bodies.
//
//go:embed audit-policy.yaml
var auditPolicy []byte

// nodeStage makes kwok manage Nodes without writing to them.
//
//go:embed node-stage.yaml
var nodeStage []byte

func (c *Cluster) startEtcdAndAPIServer(ctx context.Context) error {
	ports, err := process.Ports(3)
	if err != nil {
		return err
	}
	if err := c.startEtcd(ctx, ports[0], ports[1]); err != nil {
		return err
	}
	c.port = ports[2]
	if err := pki.WriteFiles(c.options.Dir, map[string][]byte{"audit-policy.yaml": auditPolicy}); err != nil {
		return err
	}
	network, err := c.startPodNetwork()
	if err != nil {
		return err
	}
	network = append(network, c.authorization()...)
	if c.options.Address == "" {
		network = append(network, "--disable-admission-plugins=ServiceAccount")
	}
	c.APIServer, err = c.run("kube-apiserver", append(network,
		"--etcd-servers=http://127.0.0.1:"+strconv.Itoa(ports[0]),
		"--secure-port="+strconv.Itoa(c.port),
		"--bind-address="+c.Host(),
		"--advertise-address="+c.Host(),
		"--service-cluster-ip-range="+c.options.Services,
		"--tls-cert-file="+c.tls("tls.crt"),
		"--tls-private-key-file="+c.tls("tls.key"),
		"--client-ca-file="+c.tls("ca.crt"),
		"--service-account-issuer="+c.URL(),
		"--service-account-key-file="+c.tls("tls.key"),
		"--service-account-signing-key-file="+c.tls("tls.key"),
		// The host names of the lab's kubelets do not resolve.
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate="+c.tls(kubeletClient+".crt"),
		"--kubelet-client-key="+c.tls(kubeletClient+".key"),
		// Aggregated API servers identify the original user by these.
		"--requestheader-client-ca-file="+c.tls("ca.crt"),
		"--requestheader-allowed-names="+frontProxy,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+c.tls(frontProxy+".crt"),
		"--proxy-client-key-file="+c.tls(frontProxy+".key"),
		"--allow-privileged=true",
		"--audit-policy-file="+c.path("audit-policy.yaml"),
		"--audit-log-path="+c.AuditLog(),
		// Never rotated: counts need the complete log. The default is 100 (MB), which 0 selects too.
		"--audit-log-maxsize=10240",
		"--shutdown-delay-duration=0s",
		// Watches end immediately when a lab stops, rather than after a minute.
		"--shutdown-watch-termination-grace-period=1s",
	)...)
	if err != nil {
		return err
	}
	return c.awaitAPIServer(ctx)
}

// authorization flags, which for real kubelets are those of kubeadm.
func (c *Cluster) authorization() []string {
	if !c.options.Kubelets {
		return []string{"--authorization-mode=RBAC"}
	}
	return []string{"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--enable-bootstrap-token-auth=true"}
}

func (c *Cluster) startEtcd(ctx context.Context, client, peer int) error {
	clientURL, peerURL := fmt.Sprintf("http://127.0.0.1:%d", client), fmt.Sprintf("http://127.0.0.1:%d", peer)
	var err error
	c.etcd, err = c.run("etcd",
		"--data-dir="+c.path("etcd"),
		"--listen-client-urls="+clientURL, "--advertise-client-urls="+clientURL,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL,
		"--initial-cluster=default="+peerURL,
		"--unsafe-no-fsync", "--log-level=warn")
	if err != nil {
		return err
	}
	c.etcdURL = clientURL
	return c.awaitEtcd(ctx)
}

func (c *Cluster) awaitEtcd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	return c.etcd.AwaitOK(ctx, c.etcdURL+"/health", nil)
}

func (c *Cluster) awaitAPIServer(ctx context.Context) error {
	config, err := c.clientTLS("lab-probe")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	return c.APIServer.AwaitOK(ctx, c.URL()+"/readyz", config)
}

// RestartAPIServer restarts the API server after it was killed.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	if err := c.APIServer.Restart(); err != nil {
		return err
	}
	return c.awaitAPIServer(ctx)
}

func (c *Cluster) startControllerManager(context.Context) error {
	if len(c.options.Controllers) == 0 {
		return nil
	}
	kubeconfig, err := c.WriteKubeconfig("kube-controller-manager")
	if err != nil {
		return err
	}
	_, err = c.run("kube-controller-manager",
		"--kubeconfig="+kubeconfig,
		"--controllers="+strings.Join(c.options.Controllers, ","),
		"--service-account-private-key-file="+c.tls("tls.key"),
		"--root-ca-file="+c.tls("ca.crt"),
		"--cluster-signing-cert-file="+c.tls("ca.crt"),
		"--cluster-signing-key-file="+c.tls("ca.key"),
		"--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=200", "--kube-api-burst=400")
	return err
}

func (c *Cluster) startPods(context.Context) error {
	if !c.options.Pods {
		return nil
	}
	scheduler, err := c.WriteKubeconfig("kube-scheduler")
	if err != nil {
		return err
	}
	if _, err := c.run("kube-scheduler", "--kubeconfig="+scheduler, "--leader-elect=false", "--secure-port=0"); err != nil {
		return err
	}
	if c.options.PodStages == "" {
		return nil
	}
	return c.startKwok()
}

func (c *Cluster) startKwok() error {
	kwok, err := c.WriteKubeconfig("kwok")
	if err != nil {
		return err
	}
	ports, err := process.Ports(1)
	if err != nil {
		return err
	}
	if err := pki.WriteFiles(c.options.Dir, map[string][]byte{"node-stage.yaml": nodeStage}); err != nil {
		return err
	}
	args := []string{
		"--kubeconfig=" + kwok, "--config=" + c.options.PodStages, "--config=" + c.path("node-stage.yaml"),
		"--manage-all-nodes=true", "--node-lease-duration-seconds=0",
		fmt.Sprintf("--server-address=127.0.0.1:%d", ports[0]),
	}
	if c.options.PlayedElsewhere != "" {
		args = append(args, "--disregard-status-with-label-selector="+c.options.PlayedElsewhere)
	}
	_, err = c.run("kwok", args...)
	return err
}

func (c *Cluster) run(binary string, args ...string) (*process.Process, error) {
	p, err := process.Start(process.Spec{
		Name: c.options.Name + "-" + binary, Path: filepath.Join(c.options.Binaries, binary), Args: args, LogDir: c.options.Dir,
		Died: c.options.Died,
	})
	if err != nil {
		return nil, err
	}
	c.processes = append(c.processes, p)
	return p, nil
}
