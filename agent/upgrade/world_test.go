// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var (
	errKilled   = errors.New("the agent was killed")
	errRebooted = errors.New("the host went down")
	errBusy     = errors.New("target is busy")
)

type snap struct {
	digest, attempt string
	whole           bool
	corrupt         bool
	unrecorded      bool
}

// world is a host and a registry, as far as an attempt reaches them. It keeps the habits of the real
// ones: the default flips when the image is written, half snapshots stay, exit codes lie.
type world struct {
	osplugin.Plugin

	boots     int
	booted    int32
	mode      string
	snapshots map[int32]snap
	link      int32 // what "active" boots

	// idle: the host is no node yet.
	idle bool

	digest   string
	bytes    int64
	free     int64
	work     int64 // free in the work directory; as much as on the disk when it is 0
	had      int64 // bytes of the image that were downloaded before
	unpacked int64
	recovery osplugin.RecoverySpace
	// recoveryDigest is of the recovery system; empty if it is unknown.
	recoveryDigest string
	verdicts       []assess.Verdict
	checks         []assess.Verdict // of the user
	seen           [][]string       // what each assessment was told of the one before
	resolve        []error
	write          []func() error
	failing        []string            // checks of the OS that runs before
	before         []assess.UnitStates // what assessments, the last of which are the user's checks, compare with
	ignored        []string            // what the CLI has ignored
	bootsInto      func() int32        // overrules GRUB
	clock          *systemtest.Clock
	policy         upgrade.Policy
	refusal        string      // of a program of the user's
	volatile       string      // why the marker is lost with the next reboot
	others         []string    // why it has to be waited
	noFallback     int32       // what the last choice of the boot left out of the fallbacks
	keeps          bool        // no snapshot can be removed
	compared       []string    // with which lists of what was downloaded its snapshots were compared
	unwritable     error       // why the cache of images cannot be changed
	uncertain      int         // how often it cannot be told whether a snapshot is as it should be
	hangs          bool        // an assessment does not end by itself
	busy           func() bool // what a killed upgrade left cannot be removed
	written        int
	corrupts       int // how many of the next snapshots are not as they should be
	calls          []string
	// exclusive: nobody else changes the OS; exclusiveAt says so of each call.
	exclusive   bool
	exclusiveAt []bool
	refused     map[string]int // how many of the next calls with that name fail
	reported    []wire.Attempt
	downloaded  map[string]bool

	// killAt is the number of the call at which the agent is killed, before or after it is done.
	killAt    int
	killAfter bool
	killed    bool
	// die ends the process of the agent; nil where it gives up by itself.
	die func()
}

func newWorld() *world {
	policy := upgrade.DefaultPolicy
	policy.AssessInterval = 10 * time.Second
	policy.ProgressInterval = 0 // whoever waits by this clock has waited already
	return &world{
		clock: systemtest.NewClock(), policy: policy, refused: map[string]int{},
		boots: 1, booted: 1, mode: osplugin.ModeActive, link: 1, digest: digestOf("2"), bytes: 100 << 20, free: 8 << 30, unpacked: 200 << 20,
		snapshots: map[int32]snap{1: {digest: digestOf("1"), whole: true}}, downloaded: map[string]bool{},
	}
}

func digestOf(of string) string { return "sha256:" + strings.Repeat(of, 64) }

// boundary is the edge of the agent: a kill happens between two of them, or within one.
func (w *world) boundary(name string, act func() error) error {
	if w.killed {
		return errKilled
	}
	w.calls, w.exclusiveAt = append(w.calls, name), append(w.exclusiveAt, w.exclusive)
	if len(w.calls) == w.killAt && !w.killAfter {
		w.kill()
		return errKilled
	}
	if w.refused[name] > 0 {
		w.refused[name]--
		act = func() error { return errBusy }
	}
	err := act()
	if len(w.calls) == w.killAt {
		w.kill()
		return errKilled
	}
	return err
}

func (w *world) kill() {
	w.killed = true
	if w.die != nil {
		w.die()
	}
}

func (w *world) did(name string) int {
	return len(slices.DeleteFunc(slices.Clone(w.calls), func(call string) bool { return call != name }))
}

func (w *world) bootID() string { return fmt.Sprintf("boot-%d", w.boots) }

func (w *world) Facts(context.Context) (facts osplugin.Facts, err error) {
	err = w.boundary("facts", func() error {
		booted := w.snapshots[w.booted]
		facts = osplugin.Facts{Snapshot: w.booted, Mode: w.mode, BootID: w.bootID(), Unfinished: booted.unrecorded}
		if !booted.unrecorded {
			facts.Digest, facts.Attempt, facts.RecoveryDigest = booted.digest, booted.attempt, w.recoveryDigest
		}
		return nil
	})
	return facts, err
}

func (w *world) Exclusive(_ context.Context, waiting func(string)) (func(), error) {
	for _, reason := range w.others {
		waiting(reason)
	}
	w.others = nil
	if err := w.boundary("exclusive", func() error { return nil }); err != nil {
		return nil, err
	}
	w.exclusive = true
	return func() { w.exclusive = false }, nil
}

func (w *world) Space(context.Context) (osplugin.Space, error) {
	return osplugin.Space{State: w.free, Work: cmp.Or(w.work, w.free)}, w.boundary("space", func() error { return nil })
}

func (w *world) RecoverySpace(context.Context) (osplugin.RecoverySpace, error) {
	return w.recovery, nil
}

func (w *world) MakeRoom(_ context.Context, bytes int64) error {
	return w.boundary(fmt.Sprintf("make room for %d", bytes), func() error { return nil })
}

func (w *world) Clean(context.Context) error {
	return w.boundary("clean", func() error {
		if w.busy != nil && w.busy() {
			return errBusy
		}
		for id, each := range w.snapshots {
			if id != w.booted && (!each.whole || each.unrecorded) {
				delete(w.snapshots, id)
			}
		}
		if _, found := w.snapshots[w.link]; !found {
			w.link = w.booted
		}
		return nil
	})
}

func (w *world) Upgrade(_ context.Context, request osplugin.Upgrade) (osplugin.Output, error) {
	next := w.newest() + 1
	// A kill within leaves half a snapshot.
	w.snapshots[next] = snap{}
	err := w.boundary("upgrade", func() error {
		if len(w.write) > 0 {
			broken := w.write[0]
			w.write = w.write[1:]
			return broken()
		}
		_, digest, _ := strings.Cut(request.Image, "@")
		if request.Version.UpgradeRecovery {
			w.recoveryDigest = digest
		}
		w.snapshots[next] = snap{digest: digest, attempt: request.Attempt, whole: true, corrupt: w.corrupts > 0}
		w.corrupts--
		w.link = next
		w.written++
		return nil
	})
	return osplugin.Output{Warnings: w.ignored, End: "Upgrade completed"}, err
}

func (w *world) newest() (newest int32) {
	for id := range w.snapshots {
		newest = max(newest, id)
	}
	return newest
}

func (w *world) Written(_ context.Context, attempt, digest string) (found int32, err error) {
	err = w.boundary("written", func() error {
		for id, each := range w.snapshots {
			if each.whole && !each.unrecorded && each.attempt == attempt && each.digest == digest && w.link == id {
				found = id
			}
		}
		return nil
	})
	return found, err
}

func (w *world) VerifySnapshot(_ context.Context, verification osplugin.Verification) error {
	id := verification.Snapshot
	w.compared = append(w.compared, verification.Downloaded)
	return w.boundary("verify snapshot", func() error {
		if w.uncertain > 0 {
			w.uncertain--
			return errors.New("it was killed")
		}
		if w.snapshots[id].corrupt {
			return fmt.Errorf("%w: 3 of 9 files differ from what was written", osplugin.ErrCorrupt)
		}
		return nil
	})
}

func (w *world) Discard(_ context.Context, id int32) error {
	return w.boundary("discard", func() error {
		if w.keeps {
			return errBusy
		}
		delete(w.snapshots, id)
		if w.link == id {
			w.link = w.booted
		}
		return nil
	})
}

func (w *world) BootNewest(context.Context) error {
	return w.boundary("boot newest", func() error { return nil })
}

func (w *world) BootAlways(_ context.Context, id, bad int32) error {
	w.noFallback = bad
	return w.boundary(fmt.Sprintf("boot always %d", id), func() error {
		if _, found := w.snapshots[id]; !found {
			return osplugin.ErrNoSuchSnapshot
		}
		w.link = id
		return nil
	})
}

func (w *world) Reboot(context.Context) error {
	return w.boundary("reboot", func() error { w.reboot(); return errRebooted })
}

// reboot is GRUB.
func (w *world) reboot() {
	w.boots++
	w.booted, w.mode = w.link, osplugin.ModeActive
	if w.bootsInto != nil {
		w.booted = w.bootsInto()
	}
	if w.booted != w.link {
		w.mode = osplugin.ModePassive
	}
	if w.booted == 0 {
		w.mode = osplugin.ModeRecovery
	}
}

// Attempt comes after each marker that was stored, so it is where a kill between two of them happens.
func (w *world) Attempt(attempt *wire.Attempt) {
	_ = w.boundary("report", func() error { return nil })
	if attempt != nil && !w.killed {
		w.reported = append(w.reported, *attempt)
	}
}

func (w *world) Flush(context.Context) {}

func (w *world) last() wire.Attempt {
	if len(w.reported) == 0 {
		return wire.Attempt{}
	}
	return w.reported[len(w.reported)-1]
}

// phases that were reported, each once in a row.
func (w *world) phases() []string {
	var phases []string
	for _, attempt := range w.reported {
		phases = append(phases, attempt.Phase)
	}
	return slices.Compact(phases)
}

// agent is a process of the agent: it knows what is on the disk.
func (w *world) agent(dir string) *upgrade.Machine {
	GinkgoHelper()
	machine, err := upgrade.New(upgrade.Options{
		Plugin: w, Images: w, Reporter: w, Clock: w.clock, WorkDir: dir, Policy: w.policy,
		Log: slog.New(slog.NewTextHandler(GinkgoWriter, nil)), Bootstrapped: func() bool { return !w.idle },
		Volatile: func(string) string { return w.volatile },
	})
	Expect(err).NotTo(HaveOccurred())
	return machine
}

// live starts the agent again and again, as systemd does, until the attempt has nothing left to do.
func (w *world) live(dir string, want *wire.Upgrade) {
	GinkgoHelper()
	for range 12 {
		err := w.agent(dir).Advance(context.Background(), want, nil)
		if err == nil && !w.killed {
			return
		}
		if err != nil && !errors.Is(err, errKilled) && !errors.Is(err, errRebooted) && !errors.Is(err, errBusy) {
			Expect(err).NotTo(HaveOccurred())
		}
		if w.killed { // and not when it has rebooted: the kill is still to come
			w.killed, w.killAt = false, 0
		}
	}
	Fail("the attempt does not come to an end")
}
