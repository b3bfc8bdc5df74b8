// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/loop"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// host is an agent reduced to its client and its retries.
type host struct {
	namespace string
	name      string
	client    *client.Client
	known     wire.Desired
	// told receives when the server responds with a change.
	told chan time.Time
	// failures of requests that were retried, by kind.
	failures map[string]int
}

// newFleet creates hosts with their own identities and transports, like separate processes.
func newFleet(endpoint *apitest.RegistrationEndpoint, size int) []*host {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	hosts := make([]*host, size)
	making := errgroup.Group{}
	making.SetLimit(8) // each syncs its files to disk
	for i := range hosts {
		making.Go(func() (err error) {
			hosts[i], err = newHost(endpoint, filepath.Join(folder, fmt.Sprint(i)))
			return err
		})
	}
	Expect(making.Wait()).To(Succeed())
	for _, one := range hosts {
		DeferCleanup(one.client.Close)
	}
	return hosts
}

func newHost(endpoint *apitest.RegistrationEndpoint, folder string) (*host, error) {
	own, err := identity.Load(system.NewHost(folder), folder, config.Hostname{Prefix: "m-"})
	if err != nil {
		return nil, err
	}
	transport, err := newTransport()
	if err != nil {
		return nil, err
	}
	return &host{
		namespace: endpoint.Namespace,
		name:      own.Name,
		told:      make(chan time.Time, 1),
		failures:  map[string]int{},
		client: client.New(client.Options{
			URI: endpoint.URI, Token: endpoint.Token, Identity: own, Transport: transport, Clock: system.WallClock{}, UserAgent: "bench",
		}),
	}, nil
}

// together runs a function for every host concurrently and returns the durations.
func together(hosts []*host, do func(*host) error) []time.Duration {
	GinkgoHelper()
	took := make([]time.Duration, len(hosts))
	failed := make([]error, len(hosts))
	var all sync.WaitGroup
	begin := time.Now()
	for i, one := range hosts {
		all.Go(func() {
			failed[i] = do(one)
			took[i] = time.Since(begin)
		})
	}
	all.Wait()
	Expect(errors.Join(failed...)).NotTo(HaveOccurred())
	return took
}

// persist retries a request until it succeeds, as the agent does.
func (h *host) persist(ctx context.Context, request func() error) error {
	for failures := 1; ; failures++ {
		err := request()
		if err == nil {
			return nil
		}
		h.failures[kindOf(err)]++
		if err := system.Wait(ctx, system.WallClock{}, retry.API.DelayAfter(err, failures)); err != nil {
			return errors.Join(err, fmt.Errorf("host %s gave up after %d failures", h.name, failures))
		}
	}
}

// kindOf a failure: the status of the response, or that there was none.
func kindOf(err error) string {
	answer := &client.APIError{}
	if errors.As(err, &answer) {
		return fmt.Sprint(answer.Status)
	}
	return "no answer"
}

// register registers as the agent does: it reads the registration first, then creates the host.
func (h *host) register(ctx context.Context) error {
	err := h.persist(ctx, func() error {
		_, err := h.client.Registration(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return h.persist(ctx, func() error { return h.client.Register(ctx) })
}

func (h *host) report(ctx context.Context, bootID string) error {
	return h.persist(ctx, func() error {
		return h.client.Report(ctx, wire.Report{
			AgentVersion: "v0.8.0", Phase: wire.HostRunning, Installed: true, Addresses: []wire.Address{{Type: "Hostname", Address: h.name}},
			OS: wire.OS{ImageURI: "oci://registry.example.com/os:1", Digest: "sha256:1", Snapshot: 1, BootMode: "active", BootID: bootID},
		})
	})
}

// ask requests the desired state, without waiting for a change.
func (h *host) ask(ctx context.Context) error {
	return h.persist(ctx, func() (err error) {
		h.known, _, err = h.client.Desired(ctx, "", 0)
		return err
	})
}

// poll waits for changes repeatedly until the context ends. The first wait has a random duration, because the
// requests of long-running hosts are not synchronized.
func (h *host) poll(ctx context.Context) {
	patience := rand.N(loop.DefaultWait)
	for ctx.Err() == nil {
		var desired wire.Desired
		err := h.persist(ctx, func() (err error) {
			desired, _, err = h.client.Desired(ctx, h.known.Revision, patience)
			return err
		})
		if err != nil {
			return
		}
		if desired.Revision != "" && desired.Revision != h.known.Revision {
			h.known = desired
			h.told <- time.Now()
		}
		patience = loop.DefaultWait
	}
}
