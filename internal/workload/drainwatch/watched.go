// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package drainwatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watched is a Node, with the watches of what is on it.
type watched struct {
	node  string
	clock clock.WithDelayedExecution
	// ctx ends with the drain, by end.
	ctx context.Context
	end context.CancelFunc
	// events has one entry where something has happened that nobody was woken for.
	events chan struct{}

	mu    sync.Mutex
	pace  time.Duration
	kinds map[Kind]context.CancelFunc
}

// newWatched has wake called until ctx ends.
func newWatched(ctx context.Context, clock clock.WithDelayedExecution, node string, wake func()) *watched {
	w := &watched{node: node, clock: clock, events: make(chan struct{}, 1), kinds: map[Kind]context.CancelFunc{}}
	w.ctx, w.end = context.WithCancel(ctx)
	go w.wakeBy(wake)
	return w
}

// wakeBy wakes by events: at once by the first, and after the pace by all that have come meanwhile.
func (w *watched) wakeBy(wake func()) {
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.events:
		}
		wake()
		select {
		case <-w.ctx.Done():
			return
		case <-w.clock.After(w.getPace()):
		}
	}
}

func (w *watched) happened() {
	select {
	case w.events <- struct{}{}:
	default: // one is still to be told of
	}
}

// begin begins a watch. It has begun when begin returns.
func (w *watched) begin(open func() (client.WithWatch, error), kind Kind) error {
	c, err := open()
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(w.ctx)
	late := w.clock.AfterFunc(beginsWithin, end)
	watching, err := kind.begin(ctx, c, w.node)
	if !late.Stop() && err == nil {
		watching.Stop()
		err = fmt.Errorf("the watch has not started within %s", beginsWithin)
	}
	if err != nil {
		end()
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kinds[kind] = end
	go w.follow(ctx, kind, watching)
	return nil
}

// follow tells of what a watch sees.
func (w *watched) follow(ctx context.Context, kind Kind, watching watch.Interface) {
	defer w.forget(ctx, kind)
	defer watching.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-watching.ResultChan():
			if !open || event.Type == watch.Error {
				return
			}
			if kind.concerns(event, w.node) {
				w.happened()
			}
		}
	}
}

// forget a watch that has ended by itself, and tell of it. One that was ended is forgotten already, and may have been
// followed by another.
func (w *watched) forget(ctx context.Context, kind Kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() == nil {
		w.kinds[kind]()
		delete(w.kinds, kind)
		w.happened()
	}
}

// keep ends the watches of all other kinds.
func (w *watched) keep(kinds []Kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind, end := range w.kinds {
		if !slices.Contains(kinds, kind) {
			end()
			delete(w.kinds, kind)
		}
	}
}

func (w *watched) has(kind Kind) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, has := w.kinds[kind]
	return has
}

func (w *watched) setPace(pace time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pace = pace
}

func (w *watched) getPace() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pace
}
