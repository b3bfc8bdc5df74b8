// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package killtable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/admission"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// KillsAtOnce is the maximum number of kills in one upgrade.
	KillsAtOnce = 20
	// hold is how long a side effect waits for a victim to restart: less than the timeout of API servers
	// (admission.Patience).
	hold = 10 * time.Second
	// calm is the time without a write after which none is expected to follow, reporting the maximum time for a report
	// until then if a process may be dead.
	calm      = 100 * time.Millisecond
	reporting = 3 * time.Second

	// patience is the timeout for what has to happen soon.
	patience = process.Patience
	blink    = 5 * time.Millisecond

	management = "management"
	workload   = "workload"
)

// Stage serializes all side effects, and kills processes at them.
type Stage struct {
	*victims
	table *Table
	// turn is held by the side effect that is being processed.
	turn chan struct{}

	// All below is for the one who has the turn.

	disk disk
	// run counts the upgrades.
	run int
	// kills of this run, and how many more there is room for.
	kills []string
	room  int
	// reporting is how long a report may take.
	reporting time.Duration
	// recorded edges of this run, and when the last of them was a write.
	recorded map[Edge]bool
	wrote    time.Time
	failure  error
}

// Open makes all side effects of the manager, and of the host of one node, pass through a stage. Until it is closed nobody else may hold
// the host.
func Open(ctx context.Context, l *lab.Lab, cluster *scenario.Cluster, host *lab.Host, t *Table) (*Stage, func() error, error) {
	v := newVictims(l, host)
	s := &Stage{victims: v, table: t, turn: make(chan struct{}, 1), recorded: map[Edge]bool{}, disk: readDisk(v.host)}
	gate, err := admission.Open(s.write)
	if err != nil {
		return nil, nil, err
	}
	err = errors.Join(
		gate.Guard(ctx, management, l.Management, l.Kube, lab.ManagerUser),
		gate.Guard(ctx, workload, cluster.Workload(), cluster.WorkloadKube(), l.WorkloadUser()),
	)
	if err != nil {
		return nil, nil, errors.Join(err, gate.Close())
	}
	place, err := rendezvous.Open(host.Path(), s.call)
	if err != nil {
		return nil, nil, errors.Join(err, gate.Close())
	}
	return s, func() error { return errors.Join(place.Close(), gate.Close()) }, nil
}

func (s *Stage) take() { s.turn <- struct{}{} }
func (s *Stage) give() { <-s.turn }

// takeUnless takes the turn, and gives up when ctx ends.
func (s *Stage) takeUnless(ctx context.Context) bool {
	select {
	case s.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// write is called by the API servers.
func (s *Stage) write(ctx context.Context, w *admission.Write) admission.Verdict {
	edges := edgesOf(w)
	if len(edges) == 0 || !isOurs(w) {
		return admission.Verdict{}
	}
	if !s.takeUnless(ctx) {
		return admission.Verdict{Deny: true}
	}
	if s.isDead(manager, w.Seen) {
		s.give()
		return admission.Verdict{Deny: true}
	}
	if !w.Trial {
		s.wrote = time.Now()
		s.record(edges...)
	}
	firsts, lasts := momentsOf(w, edges)
	if tellsEnd(edges) {
		firsts = append(s.onDisk(), firsts...)
	}
	if who, found := s.choose(ctx, firsts); found {
		defer s.give()
		s.strike(who, firsts)
		return admission.Verdict{Deny: who == manager || isReport(w, edges)}
	}
	who, found := s.choose(ctx, lasts)
	if !found {
		s.give()
		return admission.Verdict{}
	}
	return admission.Verdict{Then: func(stored bool) {
		defer s.give()
		if stored {
			s.strike(who, lasts)
		}
	}}
}

// call is called by the commands of the host. What the agent has written to its disk since the previous one was its
// last side effect before this one.
func (s *Stage) call(moment rendezvous.Moment) {
	if moment.HalfWay {
		return
	}
	seen := time.Now()
	s.agentActs()
	s.awaitReport()
	s.take()
	defer s.give()
	if s.isDead(agent, seen) {
		return
	}
	called := []Edge{command(s.host, moment.Argv)}
	if moment.Done {
		s.strikeOnce(cells(called, after))
		return
	}
	done := s.onDisk()
	s.record(called...)
	s.strikeOnce(append(done, cells(called, before)...))
}

// onDisk are the moments after what the agent has written to its disk since the last look.
func (s *Stage) onDisk() []cell {
	is := readDisk(s.host)
	done := is.since(s.disk)
	s.disk = is
	s.record(done...)
	return cells(done, after)
}

// awaitReport makes the host as slow as real ones, where that decides what is written: its report of a phase has been
// processed before it continues. It does not wait for dead processes.
func (s *Stage) awaitReport() {
	phase := fmt.Sprint(unmarshal(readDisk(s.host).marker)["phase"])
	if !slices.Contains([]string{wire.PhaseFetching, wire.PhaseApplying, wire.PhaseRebooting, wire.PhaseAssessing}, phase) {
		return
	}
	said := Edge(management + " elementalhosts/status status.upgrade.phase=" + phase)
	ctx, cancel := context.WithTimeout(context.Background(), s.patience())
	defer cancel()
	_ = await(ctx, func() bool {
		s.take()
		defer s.give()
		return s.recorded[said] && time.Since(s.wrote) > calm
	})
}

// patience is the timeout for reports.
func (s *Stage) patience() time.Duration {
	s.take()
	defer s.give()
	return s.reporting
}

func (s *Stage) record(edges ...Edge) {
	for _, e := range edges {
		if s.table.isOfHost() || !strings.HasPrefix(string(e), ofHost) {
			s.recorded[e] = true
		}
	}
}

// cells of either victim.
func cells(edges []Edge, at side) []cell {
	all := []cell{}
	for _, e := range edges {
		all = append(all, cell{e, manager, at}, cell{e, agent, at})
	}
	return all
}

func (s *Stage) strikeOnce(at []cell) {
	if who, found := s.choose(context.Background(), at); found {
		s.strike(who, at)
	}
}

// choose chooses the victim at these cells: one whose kill is new, and which has started since its last kill. It
// waits for a victim that is restarting; none is chosen when ctx ends.
func (s *Stage) choose(ctx context.Context, at []cell) (who victim, found bool) {
	candidates := []victim{}
	for _, c := range at {
		if s.room > 0 && s.table.wants(c) {
			candidates = append(candidates, c.victim)
		}
	}
	if len(candidates) == 0 {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, hold)
	defer cancel()
	err := await(ctx, func() bool {
		for _, who = range candidates {
			if s.isUp(who) {
				return true
			}
		}
		return false
	})
	return who, err == nil
}

func (s *Stage) strike(who victim, at []cell) {
	ctx, cancel := context.WithTimeout(context.Background(), hold)
	defer cancel()
	if err := s.kill(ctx, who); err != nil {
		s.failure = fmt.Errorf("killing the %s at %v: %w", who, at, err)
		return
	}
	s.room--
	for _, c := range at {
		if c.victim == who {
			s.table.make(c, s.run)
			s.kills = append(s.kills, fmt.Sprintf("%s the %s %s: %s", time.Now().Format("15:04:05.000"), who, c.side, c.edge))
		}
	}
}

// Begin starts the next run, without kills in the meantime.
func (s *Stage) Begin(room int, start func() error) error {
	s.take()
	defer s.give()
	s.run++
	s.kills, s.room, s.recorded = nil, room, map[Edge]bool{}
	s.reporting = reporting
	if room == 0 {
		s.reporting = patience
	}
	return start()
}

// Run counts the upgrades.
func (s *Stage) Run() int {
	s.take()
	defer s.give()
	return s.run
}

// IsManagerUp reports whether the manager has started since its last kill.
func (s *Stage) IsManagerUp() bool { return s.isUp(manager) }

// Look returns the kills of the run, and the edges that occurred in it.
func (s *Stage) Look() (kills []string, recorded []Edge, room int, err error) {
	s.take()
	defer s.give()
	return s.kills, sortedEdges(s.recorded), s.room, s.failure
}
