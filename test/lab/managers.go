// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

const (
	// ManagerUser is the user of our manager in the audit log. Replicas after the first have a numbered name of this
	// form, which the audit log records as one of their groups.
	ManagerUser = "elemental-manager"
	// ManagerNamespace is the namespace of the leader election Lease of our manager.
	ManagerNamespace = "elemental-system"
)

// leaseTimes are short enough for another replica to take over within seconds, and long enough for the leader to renew
// its Lease on a busy machine.
func leaseTimes() []string {
	return []string{"--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=1s"}
}

// extensionService is the host name that our ExtensionConfig gives for the hooks.
const extensionService = "elemental-runtime-extension." + ManagerNamespace + ".svc:443"

// services are the load balancers in front of the replicas of our manager; names resolves the Service names that
// Cluster API uses.
type services struct {
	webhooks, hooks, api *process.Balancer
	names                *process.Proxy
}

func (s services) close() {
	for _, balancer := range []*process.Balancer{s.webhooks, s.hooks, s.api} {
		if balancer != nil {
			balancer.Close()
		}
	}
	if s.names != nil {
		s.names.Close()
	}
}

// nameServices makes Cluster API's managers reach ours by the Service name in an installed ExtensionConfig.
func (l *Lab) nameServices() (err error) {
	if l.options.Install == nil {
		return nil
	}
	l.services.names, err = process.NewProxy(map[string]int{extensionService: l.hooksPort()})
	if err != nil {
		return err
	}
	l.Core.Env, l.ControlPlane.Env = l.services.names.Env(), l.services.names.Env()
	return nil
}

// newManagers describes the replicas of our manager. Only the first one installs the manifests.
func (l *Lab) newManagers() error {
	count := max(1, l.options.Managers)
	if err := l.takePorts(count); err != nil {
		return err
	}
	if err := l.writeExtensionCertificates(); err != nil {
		return err
	}
	for i := range count {
		manager, ports := l.newManager(i), l.ports[i]
		apiCertDir, err := l.apiCertDir(manager)
		if err != nil {
			return err
		}
		manager.WebhookPort, manager.ServicePort = ports.webhooks, servicePort(l.services.webhooks, l.ports[0].webhooks)
		manager.Args = slices.Concat(l.managerArgs(count > 1), l.extensionArgs(ports.hooks), []string{
			"--diagnostics-address=" + onLoopback(ports.metrics), "--insecure-diagnostics",
			"--elemental-api-bind-address=" + onLoopback(ports.api),
			"--elemental-api-endpoint=" + onLoopback(l.apiPort()),
			"--elemental-api-cert-dir=" + apiCertDir,
		})
		l.Managers = append(l.Managers, manager)
	}
	l.Provider = l.Managers[0]
	manifests, err := l.ownManifests()
	l.Provider.Manifests = manifests
	return err
}

// managerPorts are the ports that a replica serves on.
type managerPorts struct{ webhooks, hooks, api, metrics int }

// takePorts allocates the ports of all replicas, and puts load balancers in front of them where they are needed.
func (l *Lab) takePorts(count int) error {
	const each = 4
	for range count {
		taken, err := process.Ports(each)
		if err != nil {
			return err
		}
		l.ports = append(l.ports, managerPorts{webhooks: taken[0], hooks: taken[1], api: taken[2], metrics: taken[3]})
	}
	if count > 1 || l.options.Handover {
		return l.balance()
	}
	return nil
}

// servicePort is the port of a Service of our manager: that of its load balancer, or that of the only replica.
func servicePort(balancer *process.Balancer, only int) int {
	if balancer != nil {
		return balancer.Port()
	}
	return only
}

func (l *Lab) hooksPort() int { return servicePort(l.services.hooks, l.ports[0].hooks) }

// apiPort is the port that hosts are given.
func (l *Lab) apiPort() int {
	if l.options.Succeeds != nil {
		return l.options.Succeeds.services.api.Port()
	}
	return servicePort(l.services.api, l.ports[0].api)
}

// ElementalAPI is the address (host:port) of the Elemental API of the first replica.
func (l *Lab) ElementalAPI() string { return onLoopback(l.ports[0].api) }

func onLoopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

func (l *Lab) newManager(index int) *capi.Provider {
	name, rbac := ManagerUser, filepath.Join(l.options.Provider, "config", "rbac")
	if index > 0 {
		name += "-" + strconv.Itoa(index+1)
	}
	return &capi.Provider{
		Name: name, User: ManagerUser, Binary: filepath.Join(l.options.Provider, "bin", "manager"), Namespace: ManagerNamespace,
		Roles: []string{filepath.Join(rbac, "role.yaml"), filepath.Join(rbac, "leader_election_role.yaml")},
		// As in its Deployment. By these variables the manager finds out whether it runs as a Pod of a workload
		// cluster.
		Env: []string{"POD_NAMESPACE=" + ManagerNamespace, "POD_NAME=" + name, "POD_UID=" + name},
	}
}

func (l *Lab) managerArgs(elect bool) []string {
	args := []string{
		fmt.Sprintf("--leader-elect=%t", elect), "--leader-elect-namespace=" + ManagerNamespace,
		"--feature-gates=ReconcilerRateLimiting=false",
		"--upgrade-soak=" + l.options.Soak.String(),
		"--v=2",
	}
	if elect {
		args = append(args, leaseTimes()...)
	}
	return args
}

func (l *Lab) balance() error {
	for _, service := range []struct {
		balancer **process.Balancer
		port     func(managerPorts) int
	}{
		{&l.services.webhooks, func(p managerPorts) int { return p.webhooks }},
		{&l.services.hooks, func(p managerPorts) int { return p.hooks }},
		{&l.services.api, func(p managerPorts) int { return p.api }},
	} {
		behind := []int{}
		for _, ports := range l.ports {
			behind = append(behind, service.port(ports))
		}
		balancer, err := process.Balance(behind...)
		if err != nil {
			return err
		}
		*service.balancer = balancer
	}
	return nil
}

func (l *Lab) ownManifests() ([]string, error) {
	config := filepath.Join(l.options.Provider, "config")
	manifests, err := filepath.Glob(filepath.Join(config, "crd", "bases", "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("looking for our CRDs: %w", err)
	}
	policies, err := filepath.Glob(filepath.Join(config, "policy", "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("looking for our policies: %w", err)
	}
	manifests = append(manifests, policies...)
	for _, webhooks := range []string{"manifests.yaml", "guard.yaml", "preflight.yaml"} {
		manifests = append(manifests, filepath.Join(config, "webhook", webhooks))
	}
	return manifests, nil
}

// Leader returns the replica of our manager whose metrics say that it leads; nil while none does.
func (l *Lab) Leader(ctx context.Context) *capi.Provider {
	for i, manager := range l.Managers {
		if leads(ctx, l.ports[i].metrics) {
			return manager
		}
	}
	return nil
}

// leads scrapes the leader election metric of a replica.
func leads(ctx context.Context, metricsPort int) bool {
	url := fmt.Sprintf("http://127.0.0.1:%d/metrics", metricsPort)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := (&http.Client{Timeout: lookAgain * 10, Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return false // it is not running
	}
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "leader_election_master_status{") {
			return strings.HasSuffix(lines.Text(), " 1")
		}
	}
	return false
}

// Exclude takes a replica of our manager out of its Services, as happens to a Pod that is not Ready. The other replicas
// answer instead.
func (l *Lab) Exclude(manager *capi.Provider) { l.eachService(manager, (*process.Balancer).Exclude) }

// Include puts the replica back into its Services.
func (l *Lab) Include(manager *capi.Provider) { l.eachService(manager, (*process.Balancer).Include) }

func (l *Lab) eachService(manager *capi.Provider, do func(*process.Balancer, int)) {
	for i := range l.Managers {
		if l.Managers[i] == manager && l.services.hooks != nil {
			do(l.services.webhooks, l.ports[i].webhooks)
			do(l.services.hooks, l.ports[i].hooks)
			do(l.services.api, l.ports[i].api)
		}
	}
}
