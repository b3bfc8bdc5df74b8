// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// host is an agent reduced to its client.
type host struct {
	namespace string
	name      string
	client    *client.Client
	known     wire.Desired
	// told receives when the server answers with something new.
	told chan time.Time
}

// newFleet makes hosts with an identity and a transport of their own, as in as many processes.
func newFleet(endpoint *apitest.RegistrationEndpoint, size int) []*host {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	settings := config.Config{Registration: config.Registration{URI: endpoint.URI, CACert: string(server.CA), Token: endpoint.Token}}
	hosts := make([]*host, size)
	for i := range hosts {
		own, err := identity.Load(system.NewHost(folder), filepath.Join(folder, fmt.Sprint(i)), config.Hostname{Prefix: "m-"})
		Expect(err).NotTo(HaveOccurred())
		transport, err := client.NewTransport(settings)
		Expect(err).NotTo(HaveOccurred())
		hosts[i] = &host{
			namespace: endpoint.Namespace,
			name:      own.Name,
			told:      make(chan time.Time, 1),
			client: client.New(client.Options{
				URI: endpoint.URI, Token: endpoint.Token, Identity: own, Transport: transport, Clock: system.WallClock{}, UserAgent: "bench",
			}),
		}
		DeferCleanup(hosts[i].client.Close)
	}
	return hosts
}

// together runs a function for every host at once and returns how long the last took, and the errors.
func together(hosts []*host, do func(*host) error) (time.Duration, []error) {
	var (
		mu     sync.Mutex
		errors []error
		all    sync.WaitGroup
	)
	begin := time.Now()
	for _, one := range hosts {
		all.Go(func() {
			if err := do(one); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errors = append(errors, err)
			}
		})
	}
	all.Wait()
	return time.Since(begin), errors
}

// register as the agent does: what the registration says first, then the host itself.
func (h *host) register(ctx context.Context) error {
	if _, err := h.client.Registration(ctx); err != nil {
		return err
	}
	return h.client.Register(ctx)
}

func (h *host) report(ctx context.Context, bootID string) error {
	return h.client.Report(ctx, wire.Report{
		AgentVersion: "v0.5.0", Phase: wire.HostRunning, Installed: true, Addresses: []wire.Address{{Type: "Hostname", Address: h.name}},
		OS: wire.OS{ImageURI: "oci://registry.example.com/os:1", Digest: "sha256:1", Snapshot: 1, BootMode: "active", BootID: bootID},
	})
}

func (h *host) ask(ctx context.Context) (err error) {
	h.known, _, err = h.client.Desired(ctx, "", 0)
	return err
}

// poll waits for news, again and again until there are some or the context ends.
func (h *host) poll(ctx context.Context) {
	for ctx.Err() == nil {
		desired, _, err := h.client.Desired(ctx, h.known.Revision, wire.MaxWait)
		if err == nil && desired.Revision != h.known.Revision {
			h.known = desired
			h.told <- time.Now()
			return
		}
	}
}
