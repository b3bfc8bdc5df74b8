// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// maxBuckets bounds the memory of each kind of buckets, about 200 bytes each. Buckets exist only for authenticated callers, so nobody can
// evict another's bucket without many hosts of their own.
const maxBuckets = 1 << 16

// buckets are token buckets of one size, by host or registration. A bucket that is full again is dropped, since it equals a new one.
type buckets struct {
	clock clock.PassiveClock
	rate  rate.Limit // tokens a second
	burst int        // tokens in a full bucket
	limit int        // of buckets

	mu    sync.Mutex
	order *list.List // of *bucket, least recently used first
	place map[types.NamespacedName]*list.Element
}

type bucket struct {
	key    types.NamespacedName
	tokens *rate.Limiter
}

func newBuckets(clock clock.PassiveClock, refill rate.Limit, burst int) *buckets {
	return &buckets{
		clock: clock, rate: refill, burst: burst, limit: maxBuckets,
		order: list.New(), place: map[types.NamespacedName]*list.Element{},
	}
}

// take takes tokens out of a bucket, all or none. If there are not enough it returns when there would be.
func (b *buckets) take(key types.NamespacedName, tokens int) (wait time.Duration, taken bool) {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now)
	limiter := b.of(key)
	tokens = min(tokens, b.burst)
	if limiter.AllowN(now, tokens) {
		return 0, true
	}
	return b.until(limiter, tokens, now), false
}

// lacks returns when a bucket would have that many tokens; 0 if it has.
func (b *buckets) lacks(key types.NamespacedName, tokens int) time.Duration {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now)
	return max(0, b.until(b.of(key), min(tokens, b.burst), now))
}

func (b *buckets) until(limiter *rate.Limiter, tokens int, now time.Time) time.Duration {
	missing := float64(tokens) - limiter.TokensAt(now)
	return time.Duration(missing / float64(b.rate) * float64(time.Second))
}

// owe takes tokens out of a bucket even if it does not have them. It then has none until the debt is refilled, which is at most one
// bucketful: the longest wait is that of filling an empty bucket twice.
func (b *buckets) owe(key types.NamespacedName, tokens int) {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now)
	limiter := b.of(key)
	if left := b.burst + int(limiter.TokensAt(now)); left > 0 {
		limiter.ReserveN(now, min(tokens, left, b.burst))
	}
}

func (b *buckets) of(key types.NamespacedName) *rate.Limiter {
	if place, found := b.place[key]; found {
		b.order.MoveToBack(place)
		return place.Value.(*bucket).tokens
	}
	fresh := &bucket{key: key, tokens: rate.NewLimiter(b.rate, b.burst)}
	b.place[key] = b.order.PushBack(fresh)
	return fresh.tokens
}

// forget drops full buckets, and evicts one if there are too many.
func (b *buckets) forget(now time.Time) {
	for front := b.order.Front(); front != nil; front = b.order.Front() {
		oldest := front.Value.(*bucket)
		if len(b.place) < b.limit && oldest.tokens.TokensAt(now) < float64(b.burst) {
			return
		}
		b.order.Remove(front)
		delete(b.place, oldest.key)
	}
}
