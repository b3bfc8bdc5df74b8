// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/etcd"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const probeKey = "/lab/probe"

// openEtcd connects to the members on the hosts of the control plane.
func openEtcd(cluster *scenario.Cluster) *etcd.Client {
	GinkgoHelper()
	roots := []string{}
	for n := range cluster.Options.ControlPlane {
		roots = append(roots, cluster.Lab.Host(cluster.ControlPlaneHostName(n+1)).Path())
	}
	opened, err := etcd.Open(roots...)
	Expect(err).NotTo(HaveOccurred())
	return opened
}

// votersOf lists the voting members, by ID.
func votersOf(ctx context.Context, from *etcd.Client) (map[string]string, error) {
	members, err := from.Members(ctx)
	voters := map[string]string{}
	for _, member := range members {
		if !member.IsLearner {
			voters[member.ID] = member.Name
		}
	}
	return voters, err
}

// writer writes to etcd continuously.
type writer struct {
	etcd *etcd.Client
	stop context.CancelFunc
	done sync.WaitGroup

	written int
	err     error
}

// write writes until finish. When the leader goes down a write fails: it is retried until the next leader is elected.
func write(ctx context.Context, to *etcd.Client) *writer {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &writer{etcd: to, stop: stop}
	w.done.Go(func() {
		for ctx.Err() == nil && w.err == nil {
			w.err = w.next(ctx)
		}
	})
	return w
}

func (w *writer) next(ctx context.Context) error {
	const pause = 50 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, pause, specs.Patience, false, func(ctx context.Context) (bool, error) {
		return w.etcd.Put(ctx, probeKey, strconv.Itoa(w.written+1)) == nil, nil
	})
	if ctx.Err() != nil {
		return nil
	}
	w.written++
	return err
}

// finish ends the writing and asserts that no write was lost.
func (w *writer) finish(ctx context.Context) {
	GinkgoHelper()
	w.stop()
	w.done.Wait()
	Expect(w.err).NotTo(HaveOccurred(), "etcd never lost its quorum for long")
	stored, err := w.etcd.Get(ctx, probeKey)
	Expect(err).NotTo(HaveOccurred())
	Expect(strconv.Atoi(stored)).To(BeNumerically(">=", w.written), "no write was lost")
	GinkgoWriter.Println("etcd took", w.written, "writes")
}
