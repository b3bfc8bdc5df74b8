// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// maxReportWrites is how many reports are written at the same time, for the reason of maxAdmissions. One that comes when there are as many
// is refused at once instead of waiting: by the time that it could be written another replica may have stored a newer one of its host,
// while the agent repeats what is so then.
const maxReportWrites = 40

// reporter stores changed reports, one at a time per host. While one is being written, later reports of the same host are coalesced: the
// last of them is written, and all are answered with its outcome. So a host causes at most one write at a time.
type reporter struct {
	client client.Client
	clock  clock.PassiveClock
	hosts  *hosts
	quota  *quota
	writes *semaphore.Weighted

	mu sync.Mutex
	// next holds, for each host that is being written, the next batch; nil for none.
	next map[types.NamespacedName]*batch
	// written are the last writes that the cache does not show yet.
	written map[types.NamespacedName]*infrav1.ElementalHost
}

// batch is a number of reports of one host, of which the last is stored.
type batch struct {
	host   *infrav1.ElementalHost
	status infrav1.ElementalHostStatus
	done   chan struct{}
	err    error
}

// patch returns what is written of a report. Of an outdated agent only that it exists is written.
func (b *batch) patch() ([]byte, error) {
	if b.status.Agent.Outdated {
		return outdatedPatch(b.status.Agent)
	}
	return statusPatch(b.status)
}

func newReporter(client client.Client, clock clock.PassiveClock, hosts *hosts, quota *quota) *reporter {
	return &reporter{
		client: client, clock: clock, hosts: hosts, quota: quota, writes: semaphore.NewWeighted(maxReportWrites),
		next: map[types.NamespacedName]*batch{}, written: map[types.NamespacedName]*infrav1.ElementalHost{},
	}
}

// submit returns when the report, or a later one of the same host, is stored.
func (r *reporter) submit(ctx context.Context, host *infrav1.ElementalHost, status infrav1.ElementalHostStatus) error {
	waiting := r.enqueue(ctx, host, status)
	select {
	case <-waiting.done:
		return waiting.err
	case <-ctx.Done():
		return fmt.Errorf("waiting for the report of ElementalHost %s/%s to be stored: %w", host.Namespace, host.Name, ctx.Err())
	}
}

// enqueue joins the next batch, or starts one. The writer is a separate goroutine, since the write must not be cancelled when one of the
// callers disconnects.
func (r *reporter) enqueue(ctx context.Context, host *infrav1.ElementalHost, status infrav1.ElementalHostStatus) *batch {
	key := client.ObjectKeyFromObject(host)
	r.mu.Lock()
	defer r.mu.Unlock()
	next, writing := r.next[key]
	if next != nil {
		if !status.Agent.Outdated { // which is recorded again soon, whereas a report that was answered is not repeated
			next.host, next.status = host, status
		}
		countReport(reportCoalesced)
		return next
	}
	fresh := &batch{host: host, status: status, done: make(chan struct{})}
	if writing {
		r.next[key] = fresh
		return fresh
	}
	r.next[key] = nil
	go r.run(context.WithoutCancel(ctx), key, fresh)
	return fresh
}

func (r *reporter) run(ctx context.Context, key types.NamespacedName, current *batch) {
	for current != nil {
		current.err = r.store(ctx, key, current)
		close(current.done)
		current = r.dequeue(key)
	}
}

func (r *reporter) dequeue(key types.NamespacedName) *batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.next[key]
	if next == nil {
		delete(r.next, key)
		return nil
	}
	r.next[key] = nil
	return next
}

// store writes a status if it has changed and the quota admits it.
func (r *reporter) store(ctx context.Context, key types.NamespacedName, what *batch) error {
	stored := r.latest(ctx, key, what.host)
	if what.status.Agent.Outdated {
		what.status = withAgent(stored.Status, what.status.Agent)
	}
	if sameReport(stored.Status, what.status) {
		countReport(reportUnchanged)
		return nil
	}
	if !r.writes.TryAcquire(1) {
		countReport(reportRefused)
		return refuseForNow("too many hosts report at the same time")
	}
	defer r.writes.Release(1)
	what.status.BootIDs = recentBoots(stored.Status.BootIDs, what.status.OS.BootID)
	if err := r.quota.admitReport(ctx, stored, what.status); err != nil {
		countReport(reportRefused)
		return err
	}
	what.status.Agent.LastSeen = metav1.NewTime(r.clock.Now())
	patch, err := what.patch()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	host := &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := r.client.Status().Patch(ctx, host, client.RawPatch(types.MergePatchType, patch)); err != nil {
		countReport(reportFailed)
		return refusePatch(key, err)
	}
	countReport(reportWritten)
	if host.UID != what.host.UID {
		return refuseHeir(key)
	}
	r.remember(ctx, key, host)
	return nil
}

func refusePatch(key types.NamespacedName, err error) error {
	if apierrors.IsNotFound(err) {
		return refuseUnknown(key)
	}
	return fmt.Errorf("writing status of ElementalHost %s: %w", key, err)
}

// refuseHeir is for a report that was written to another host, which took over the name while the cache was stale. A status patch cannot be
// conditional on the UID, which the API server takes from the stored object, and one conditional on the resourceVersion would conflict with
// every write of a condition. The new host's own report, sent when it connects, corrects its status.
func refuseHeir(key types.NamespacedName) error {
	return refuse(http.StatusConflict, "host %s was deleted and registered again: this report is not its own", key.Name)
}

// latest returns the newest known version of a host: the last write, until the cache has caught up.
func (r *reporter) latest(ctx context.Context, key types.NamespacedName, otherwise *infrav1.ElementalHost) *infrav1.ElementalHost {
	cached, err := r.hosts.fromCache(ctx, key)
	if err != nil {
		cached = otherwise
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	written := r.written[key]
	if written == nil || written.UID != cached.UID || caughtUp(cached, written) {
		delete(r.written, key)
		return cached
	}
	return written
}

// remember keeps what was written, unless the informer has already shown it.
func (r *reporter) remember(ctx context.Context, key types.NamespacedName, host *infrav1.ElementalHost) {
	r.mu.Lock()
	r.written[key] = host
	r.mu.Unlock()
	if cached, err := r.hosts.fromCache(ctx, key); err == nil {
		r.observed(cached)
	}
}

// observed drops the last write once the informer shows it.
func (r *reporter) observed(host *infrav1.ElementalHost) {
	key := client.ObjectKeyFromObject(host)
	r.mu.Lock()
	defer r.mu.Unlock()
	if written := r.written[key]; written != nil && (written.UID != host.UID || caughtUp(host, written)) {
		delete(r.written, key)
	}
}

// forget drops the last write of a deleted host.
func (r *reporter) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.written, key)
}

// caughtUp reports whether the cached version is at least as new as the written one.
func caughtUp(cached, written *infrav1.ElementalHost) bool {
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, written.ResourceVersion)
	return err != nil || order >= 0
}

// recentBoots prepends the boot of a report to the previous ones. Two machines with the same key cannot be distinguished by their reports,
// but a boot id that reappears reveals them.
func recentBoots(known []string, boot string) []string {
	if boot == "" || len(known) > 0 && known[0] == boot {
		return known
	}
	return append([]string{boot}, known[:min(len(known), infrav1.MaxBootIDs-1)]...)
}

// withAgent returns a status with another agent, and all else as it is.
func withAgent(status infrav1.ElementalHostStatus, agent infrav1.HostAgent) infrav1.ElementalHostStatus {
	agent.VolatileWorkDir = status.Agent.VolatileWorkDir
	status.Agent = agent
	return status
}

// sameReport compares what hosts report. The time when the agent was last seen is ignored: otherwise every report would be a write.
func sameReport(a, b infrav1.ElementalHostStatus) bool {
	a.Conditions, b.Conditions = nil, nil
	a.BootIDs, b.BootIDs = nil, nil
	a.KeyFingerprint, b.KeyFingerprint = "", ""
	a.Agent.LastSeen, b.Agent.LastSeen = metav1.Time{}, metav1.Time{}
	return equality.Semantic.DeepEqual(a, b)
}
