// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrUnreachable means that there is no connection to the workload cluster at the moment. It is
// waited for; it is not an error of the upgrade.
var ErrUnreachable = errors.New("workload cluster is not reachable")

// Connector opens workload clusters.
type Connector interface {
	// Connect returns the workload cluster of a Cluster, or ErrUnreachable.
	Connect(ctx context.Context, cluster client.ObjectKey) (*Cluster, error)
}

// NewConnector returns a Connector over Cluster API's ClusterCache. management is used to read
// MachineDrainRules. All clusters know the residents.
func NewConnector(cache clustercache.ClusterCache, management client.Client, residents ...Resident) Connector {
	return &connector{cache: cache, management: management, residents: residents}
}

type connector struct {
	cache      clustercache.ClusterCache
	management client.Client
	residents  []Resident
	// memories of the clusters that are connected, by the key of their Cluster.
	memories sync.Map
}

func (c *connector) Connect(ctx context.Context, key client.ObjectKey) (*Cluster, error) {
	live, err := c.cache.GetUncachedClient(ctx, key)
	if err != nil {
		return nil, c.unconnected(key, err)
	}
	cached, err := c.cache.GetReader(ctx, key)
	if err != nil {
		return nil, c.unconnected(key, err)
	}
	cluster := New(c.management, live).WithCache(WithDeadline(cached)).With(c.residents...)
	if cluster.config, err = c.cache.GetRESTConfig(ctx, key); err != nil {
		return nil, c.unconnected(key, err)
	}
	known, _ := c.memories.LoadOrStore(key, cluster.memory)
	cluster.memory = known.(*memory)
	return cluster, nil
}

// unconnected tells a cluster that is not connected, of which nothing is known from here on, from other errors.
func (c *connector) unconnected(key client.ObjectKey, err error) error {
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		c.memories.Delete(key)
		return ErrUnreachable
	}
	return fmt.Errorf("connecting to the workload cluster of Cluster %s: %w", key, err)
}

// Cluster is a workload cluster.
type Cluster struct {
	management client.Client
	live       client.Client
	// cached reads Nodes from the watch of the connection.
	cached client.Reader
	memory *memory
	// residents are in no cluster for sure: each looks for itself.
	residents []Resident
	// config of live; nil if that was given without.
	config *rest.Config
}

// New returns a workload cluster. live reads and writes it without a cache: nothing here can be decided
// on a stale read, and Pods of whole clusters are not worth caching for the few Nodes that are drained.
func New(management, live client.Client) *Cluster {
	live = calls{live}
	return &Cluster{management: management, live: live, cached: live, memory: &memory{}}
}

// WithCache has CachedNodes read from a cache. Default: the cluster itself.
func (c *Cluster) WithCache(cached client.Reader) *Cluster {
	c.cached = cached
	return c
}

// WithConfig is for what needs a connection of its own, as watches do. Default: they cannot be had.
func (c *Cluster) WithConfig(config *rest.Config) *Cluster {
	c.config = config
	return c
}

// errNoConfig means that a Cluster was made without one.
var errNoConfig = errors.New("no connection of its own")

// Live reads and writes the workload cluster without a cache.
func (c *Cluster) Live() client.Client { return c.live }

// Config is that of the connection; nil where the cluster was made without one of its own.
func (c *Cluster) Config() *rest.Config { return c.config }

// Watcher returns a client whose watches may last: the calls of Live are ended after a while.
func (c *Cluster) Watcher() (client.WithWatch, error) {
	if c.config == nil {
		return nil, errNoConfig
	}
	config := rest.CopyConfig(c.config)
	config.Timeout = 0
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: c.live.Scheme(), Mapper: c.live.RESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("preparing to watch the workload cluster: %w", err)
	}
	return watcher, nil
}

// As returns a client without a cache that acts as a ServiceAccount of the cluster, and a configuration for what a client cannot do.
func (c *Cluster) As(account client.ObjectKey) (client.Client, *rest.Config, error) {
	if c.config == nil {
		return nil, nil, errNoConfig
	}
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: serviceaccount.MakeUsername(account.Namespace, account.Name)}
	config.Timeout = CallTimeout
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper { return limited{transport} })
	as, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme, Mapper: c.live.RESTMapper()})
	if err != nil {
		return nil, nil, fmt.Errorf("preparing to act as ServiceAccount %s of the workload cluster: %w", account, err)
	}
	return calls{as}, config, nil
}

// Node reads a Node live. It returns nil if there is none.
func (c *Cluster) Node(ctx context.Context, name string) (*corev1.Node, error) {
	node := &corev1.Node{}
	err := c.live.Get(ctx, client.ObjectKey{Name: name}, node)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Node %s: %w", name, err)
	}
	return node, nil
}

// Nodes lists all Nodes.
func (c *Cluster) Nodes(ctx context.Context) ([]corev1.Node, error) {
	nodes := &corev1.NodeList{}
	if err := c.live.List(ctx, nodes); err != nil {
		return nil, fmt.Errorf("listing Nodes: %w", err)
	}
	return nodes.Items, nil
}

// CachedNodes are all Nodes as the watch of the connection knows them, which costs the cluster nothing. They may be late by
// a moment, are in no order, and must not be changed.
func (c *Cluster) CachedNodes(ctx context.Context) ([]corev1.Node, error) {
	nodes := &corev1.NodeList{}
	if err := c.cached.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Nodes: %w", err)
	}
	return nodes.Items, nil
}
