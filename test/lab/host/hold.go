// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
)

// agentDir is where the agent keeps what it must remember.
const agentDir = "/var/lib/elemental/agent"

// holds are the moments of commands at which a host can be held in a phase of its upgrade: it does not leave the phase
// without them.
var holds = map[string]struct {
	command string
	halfWay bool
}{
	wire.PhaseFetching:  {command: "df"},
	wire.PhaseApplying:  {command: "elemental upgrade", halfWay: true},
	wire.PhaseRebooting: {command: "systemctl reboot"},
	wire.PhaseAssessing: {command: "systemctl is-active"},
}

// Held is a host that stops in phases of its upgrade until it is let go. Its agent reports the phase meanwhile, which the
// host leaves at once otherwise.
type Held struct {
	host   *Host
	phases map[string]*heldPhase
	close  func() error

	mu sync.Mutex
	// left is how many phases it is still held in.
	left int
}

type heldPhase struct {
	// came is closed when the host stops in the phase, goOn when it may go on.
	came, goOn           chan struct{}
	closeCame, closeGoOn func()
}

// Hold holds the host in phases of wire: Fetching, at its beginning, Applying, when half of the image is written, Rebooting,
// before it asks for that, and Assessing. The host can be held again when it has been let go from all of them.
func (h *Host) Hold(phases ...string) (*Held, error) {
	held := &Held{host: h, phases: map[string]*heldPhase{}}
	for _, phase := range phases {
		if _, can := holds[phase]; !can {
			return nil, fmt.Errorf("holding host %s: it cannot be held in phase %q", h.Name(), phase)
		}
		p := &heldPhase{came: make(chan struct{}), goOn: make(chan struct{})}
		p.closeCame = sync.OnceFunc(func() { close(p.came) })
		p.closeGoOn = sync.OnceFunc(func() { close(p.goOn); held.release() })
		held.phases[phase] = p
	}
	held.left = len(held.phases)
	place, err := rendezvous.Open(h.Path(), held.meet)
	if err != nil {
		return nil, err
	}
	held.close = sync.OnceValue(place.Close)
	return held, nil
}

// Came is closed when the host has stopped in the phase.
func (h *Held) Came(phase string) <-chan struct{} { return h.phases[phase].came }

// LetGo lets the host go on from the phase, now or when it comes to it.
func (h *Held) LetGo(phase string) {
	if p := h.phases[phase]; p != nil {
		p.closeGoOn()
	}
}

// Close lets the host go on from all phases.
func (h *Held) Close() error {
	for phase := range h.phases {
		h.LetGo(phase)
	}
	return h.close()
}

// release makes place for whoever holds the host next.
func (h *Held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left--; h.left == 0 {
		_ = h.close()
	}
}

// meet returns when the command may go on.
func (h *Held) meet(moment rendezvous.Moment) {
	phase := h.phase()
	hold, held := holds[phase], h.phases[phase]
	if held == nil || moment.Done || moment.HalfWay != hold.halfWay || !strings.HasPrefix(strings.Join(moment.Argv, " "), hold.command) {
		return
	}
	held.closeCame()
	<-held.goOn
}

// phase that the agent is in by its own marker; empty without one.
func (h *Held) phase() string {
	marker := upgrade.Marker{}
	content, err := os.ReadFile(h.host.Path(agentDir, upgrade.MarkerFile))
	if err != nil || json.Unmarshal(content, &marker) != nil {
		return ""
	}
	return marker.Phase
}
