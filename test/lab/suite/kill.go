// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
)

// edgeInterval is how often an edge is looked for: one that passes faster is not seen.
const edgeInterval = 50 * time.Millisecond

// KillAtEachEdge kills the lab's manager, and starts it again, whenever look returns an edge that it has not returned before, until look says that it
// has ended. It returns the edges, in their order. Look is asked again when it fails: what it asks may be away.
func KillAtEachEdge(ctx context.Context, l *lab.Lab, timeout time.Duration, look func(context.Context) (edge string, ended bool, err error)) []string {
	GinkgoHelper()
	edges, seen := []string{}, map[string]bool{}
	Eventually(func(g Gomega) {
		edge, ended, err := look(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		if !seen[edge] {
			seen[edge] = true
			edges = append(edges, edge)
			GinkgoWriter.Println("killing the manager at", edge)
			l.Provider.Process.Kill()
			g.Expect(l.Provider.Process.Restart()).To(Succeed())
			g.Expect(l.Provider.AwaitReady(ctx)).To(Succeed())
		}
		g.Expect(ended).To(BeTrue())
	}).WithTimeout(timeout).WithPolling(edgeInterval).WithContext(ctx).Should(Succeed())
	return edges
}
