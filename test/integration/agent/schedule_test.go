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

	// maxDisturbances in a schedule, maxMoment at which one begins. An upgrade that nothing disturbs has some 80 moments.
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

// weighted are the kinds, as often as they are to come up.
var weighted = []kind{agentKilled, agentKilled, agentKilled, powerCut, powerCut, diskFull, apiAway, apiFails}

// disturbance of an upgrade.
type disturbance struct {
	kind kind
	// at which moment of the host's commands it begins, counted from the order to upgrade: before, half-way through or after one.
	at int
	// after that moment; 0 has the command wait for it.
	after time.Duration
	// lasts is for how long, where it is not over at once.
	lasts time.Duration
}

func (d disturbance) String() string {
	return fmt.Sprintf("%s at moment %d + %s for %s", d.kind, d.at, d.after, d.lasts)
}

// schedule is an upgrade and what disturbs it, all of it from one seed.
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

// killsCLI says at which moment the CLI is killed, or the power cut, once.
func (s schedule) killsCLI() string { return s.os.Labels[source.LabelUpgradeKilled] }

// cuts of the power, at most.
func (s schedule) cuts() int {
	cuts := s.has(powerCut)
	if s.killsCLI() == source.OnceUnrecorded {
		cuts++
	}
	return cuts
}

// ends are the ends that the schedule may have.
func (s schedule) ends() []string {
	var ends []string
	if s.os.Boot == source.BootOK {
		ends = append(ends, wire.PhaseSucceeded)
	}
	// A boot that lost power before it was assessed is not tried again by the boot loader. A snapshot that a full disk has cut off is
	// booted on a host of the lab, where nobody compares it: that is test/native's.
	if s.os.Boot != source.BootOK || s.cuts() > 0 || s.has(diskFull) > 0 {
		ends = append(ends, wire.PhaseRolledBack)
	}
	if s.has(diskFull) > 0 || s.unwritable() || s.cuts() >= maxFailures {
		ends = append(ends, wire.PhaseFailed)
	}
	return ends
}

// maxFailures of writing the image that the agent accepts.
const maxFailures = 3

// unwritable says whether the CLI fails each time, after it has made the new snapshot the default.
func (s schedule) unwritable() bool {
	return s.recovery && s.os.Labels[source.LabelKernel] == source.NoKernel
}

// mostBoots that an end may take: the first, those after a loss of power, the one into the new OS, and the ways back from it. The choice
// of the former OS while a snapshot is written holds for one boot: who loses power twice may boot what is not recorded, and has to leave it.
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

// seeds that are to be run.
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
