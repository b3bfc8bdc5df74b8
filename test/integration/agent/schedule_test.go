// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

const (
	// seedsEnv names the variable with the seeds to run, as "FIRST-LAST".
	seedsEnv     = "SEEDS"
	defaultSeeds = "1-12"

	// maxDisturbances is the limit in a schedule, maxMoment the last moment at which one begins. An undisturbed upgrade
	// has about 80 moments.
	maxDisturbances = 6
	maxMoment       = 90
	maxDelay        = 40 * time.Millisecond
	maxDuration     = 600 * time.Millisecond
)

// kind of a disturbance.
type kind string

const (
	agentKilled kind = "the agent is killed"
	powerCut    kind = "the power is cut"
	diskFull    kind = "the state partition is full"
	apiAway     kind = "the API does not answer"
	apiFails    kind = "the API fails"
)

// weighted are the kinds, each repeated according to its frequency.
var weighted = []kind{agentKilled, agentKilled, agentKilled, powerCut, powerCut, diskFull, apiAway, apiFails}

// disturbance of an upgrade.
type disturbance struct {
	kind kind
	// at is the moment of the host's commands at which it begins, counted from the upgrade request: before, halfway
	// through or after a command.
	at int
	// after is the delay after that moment; with 0 the command waits for the disturbance to begin.
	after time.Duration
	// lasts is its duration, unless it is instantaneous.
	lasts time.Duration
}

func (d disturbance) String() string {
	return fmt.Sprintf("%s at moment %d + %s for %s", d.kind, d.at, d.after, d.lasts)
}

// schedule is an upgrade and its disturbances, all derived from one seed.
type schedule struct {
	seed     uint64
	os       image.OS
	recovery bool
	disturbs []disturbance
}

func newSchedule(seed uint64) schedule {
	random := rand.New(rand.NewPCG(seed, 0))
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	s := schedule{seed: seed, recovery: random.IntN(4) == 0}
	s.os = image.OS{
		Boot:           pick(source.BootOK, source.BootOK, source.BootOK, source.BootUnhealthy, source.BootNone),
		UpgradeSeconds: random.Float64() * 0.2,
		Labels:         map[string]string{},
	}
	if random.IntN(3) == 0 {
		s.os.Labels[source.LabelUpgradeKilled] = pick(source.Once, source.OnceInHook, source.OncePacking, source.OnceUnrecorded)
	}
	if random.IntN(8) == 0 {
		s.os.Labels[source.LabelKernel] = source.NoKernel
	}
	for range 1 + random.IntN(maxDisturbances) {
		d := disturbance{
			kind: weighted[random.IntN(len(weighted))], at: 1 + random.IntN(maxMoment),
			lasts: time.Duration(random.Int64N(int64(maxDuration))),
		}
		if random.IntN(2) == 0 {
			d.after = time.Duration(random.Int64N(int64(maxDelay)))
		}
		s.disturbs = append(s.disturbs, d)
	}
	return s
}

func (s schedule) String() string {
	lines := []string{fmt.Sprintf("seed %d: an image that boots %q with labels %v, recovery %t", s.seed, s.os.Boot, s.os.Labels, s.recovery)}
	for _, d := range s.disturbs {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n  ")
}

// has counts the disturbances of a kind.
func (s schedule) has(wanted kind) int {
	n := 0
	for _, d := range s.disturbs {
		if d.kind == wanted {
			n++
		}
	}
	return n
}

// killsCLI is the moment at which the CLI is killed, or the power cut, once.
func (s schedule) killsCLI() string { return s.os.Labels[source.LabelUpgradeKilled] }

// cuts is the maximum number of power cuts.
func (s schedule) cuts() int {
	cuts := s.has(powerCut)
	if s.killsCLI() == source.OnceUnrecorded {
		cuts++
	}
	return cuts
}

// ends are the outcomes that the schedule may have.
func (s schedule) ends() []string {
	var ends []string
	if s.os.Boot == source.BootOK {
		ends = append(ends, wire.PhaseSucceeded)
	}
	// The boot loader does not retry a boot that lost power before it was assessed. A snapshot truncated by a full disk
	// boots on a host of the lab, because the lab does not compare its content; test/native does.
	if s.os.Boot != source.BootOK || s.cuts() > 0 || s.has(diskFull) > 0 {
		ends = append(ends, wire.PhaseRolledBack)
	}
	if s.has(diskFull) > 0 || s.unwritable() || s.cuts() >= maxFailures {
		ends = append(ends, wire.PhaseFailed)
	}
	return ends
}

// maxFailures of writing the image that the agent tolerates.
const maxFailures = 3

// unwritable reports whether the CLI fails each time, after it has made the new snapshot the default.
func (s schedule) unwritable() bool {
	return s.recovery && s.os.Labels[source.LabelKernel] == source.NoKernel
}

// mostBoots is the maximum number of boots for an outcome: the first, those after a power cut, the one into the new OS,
// and those back from it. While a snapshot is written, the former OS is selected for one boot only: a host that loses
// power twice may boot the unrecorded snapshot, and has to leave it again.
func (s schedule) mostBoots(end string) int {
	boots := 1 + s.cuts() + max(0, s.cuts()-1)
	switch end {
	case wire.PhaseSucceeded:
		return boots + 1
	case wire.PhaseRolledBack:
		return boots + 2
	default:
		return boots
	}
}

// seeds to run.
func seeds() (first, last uint64, err error) {
	asked := os.Getenv(seedsEnv)
	if asked == "" {
		asked = defaultSeeds
	}
	from, to, _ := strings.Cut(asked, "-")
	if to == "" {
		to = from
	}
	if first, err = strconv.ParseUint(from, 10, 64); err == nil {
		last, err = strconv.ParseUint(to, 10, 64)
	}
	if err != nil || first > last {
		return 0, 0, fmt.Errorf("%s=%q: give the first and the last seed, as in 1-200", seedsEnv, asked)
	}
	return first, last, nil
}
