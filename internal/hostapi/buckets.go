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

// maxBuckets bounds the memory of each kind of buckets, some 200 bytes for one. There is a bucket only for what
// exists and was authenticated, so that nobody can push another's out without hosts of his own.
const maxBuckets = 1 << 16

// buckets are token buckets of one size, by the host or the registration that they are for. One that is full
// again is forgotten: it is the same as a new one.
type buckets struct {
	clock clock.PassiveClock
	rate  rate.Limit // tokens a second
	burst int        // tokens in a full bucket
	limit int        // of buckets

	mu    sync.Mutex
	order *list.List // of *bucket, the one that was used longest ago first
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

// take takes tokens out of a bucket, all or none. If there are not enough it returns after how long there would be.
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
	missing := float64(tokens) - limiter.TokensAt(now)
	return time.Duration(missing / float64(b.rate) * float64(time.Second)), false
}

// owe takes tokens out of a bucket whether or not it has them. It gives none until it has got those back that it lacks, which are a
// bucketful at most: nobody is kept waiting for longer than an empty bucket takes twice over.
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

// forget drops buckets that are full again, and makes room for one where there are too many.
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
