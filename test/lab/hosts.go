// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

type (
	// Host of the lab.
	Host = host.Host
	// Held is a host that is blocked in a phase of its upgrade.
	Held = host.Held
)

const lookAgain = 100 * time.Millisecond

func (l *Lab) startRegistry() error {
	registry, err := image.Start(image.Options{})
	if err != nil {
		return fmt.Errorf("starting the image registry: %w", err)
	}
	l.Registry = registry
	return registry.WriteCA(l.registryCA())
}

func (l *Lab) registryCA() string { return filepath.Join(l.options.Dir, "registry-ca.crt") }

// stableWindow is how long a host's boot must stay healthy where its registration does not say. It is short because
// suites upgrade hundreds of hosts.
const stableWindow = time.Second

// AgentConfig waits until a registration accepts hosts, and returns the configuration of their agents.
func (l *Lab) AgentConfig(ctx context.Context, namespace, registration string) ([]byte, error) {
	object := &infrav1.ElementalRegistration{}
	object.Namespace, object.Name = namespace, registration
	err := wait.PollUntilContextTimeout(ctx, lookAgain, process.Patience, true, func(ctx context.Context) (bool, error) {
		if err := l.Kube.Get(ctx, keyOf(object), object); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		return object.Status.TokenSecretName != "", nil
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for ElementalRegistration %s to have a token: %w", registration, err)
	}
	secret := &corev1.Secret{}
	if err := l.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: object.Status.TokenSecretName}, secret); err != nil {
		return nil, fmt.Errorf("reading the token of ElementalRegistration %s: %w", registration, err)
	}
	agent := object.Spec.Config.Elemental.Agent
	if agent.StableWindow == nil {
		agent.StableWindow = &metav1.Duration{Duration: stableWindow}
	}
	config, err := yaml.Marshal(map[string]any{
		"registration": infrav1.Registration{
			URI: object.Status.URI, CACert: object.Status.CACert, Token: string(secret.Data[infrav1.RegistrationTokenSecretKey]),
		},
		"agent": agent,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the agent's configuration: %w", err)
	}
	return config, nil
}

// AddHostOf installs a host from an image, powers it on, and lets its agent register. It becomes a Node of the given workload cluster.
func (l *Lab) AddHostOf(ctx context.Context, workload *kube.Cluster, name string, os image.Image, agentConfig []byte) (*Host, error) {
	return l.addHost(ctx, workload, host.Options{Name: name, Image: os.URI(), Config: agentConfig})
}

// AddLiveHost powers on a host with an empty disk that boots live media of an image; its agent registers from there and
// installs the host.
func (l *Lab) AddLiveHost(ctx context.Context, name string, media image.Image, agentConfig []byte) (*Host, error) {
	return l.addHost(ctx, l.Workload, host.Options{Name: name, Image: media.URI(), Config: agentConfig, Live: true})
}

func (l *Lab) addHost(ctx context.Context, workload *kube.Cluster, options host.Options) (*Host, error) {
	name := options.Name
	node, err := l.NodeOf(workload, name)
	if err != nil {
		return nil, err
	}
	root, err := l.dir(filepath.Join("hosts", name))
	if err != nil {
		return nil, err
	}
	options.Root, options.CABundle, options.Kubelet = root, l.registryCA(), node
	options.Double = filepath.Join(l.options.Root, "bin", "lab", "hostdouble")
	options.Agent = filepath.Join(l.options.Root, "bin", "elemental-agent")
	options.Etcd = l.options.tool("etcd")
	options.OnEvent = l.onHostEvent
	added, err := host.New(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := added.Start(ctx); err != nil {
		return nil, fmt.Errorf("switching on host %s: %w", name, err)
	}
	l.hosts = append(l.hosts, added)
	return added, nil
}

// Hosts of the lab.
func (l *Lab) Hosts() []*Host { return l.hosts }

// Host returns the host with the given name, or nil.
func (l *Lab) Host(name string) *Host {
	for _, candidate := range l.hosts {
		if candidate.Name() == name {
			return candidate
		}
	}
	return nil
}

func keyOf(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }
