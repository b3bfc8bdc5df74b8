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

// agentDir is the agent's state directory.
const agentDir = "/var/lib/elemental/agent"

// holds are the moments of commands at which a host can be blocked in a phase of its upgrade: it cannot leave the phase
// without these commands.
var holds = map[string]struct {
	command string
	halfWay bool
}{
	wire.PhaseFetching:  {command: "df"},
	wire.PhaseApplying:  {command: "elemental upgrade", halfWay: true},
	wire.PhaseRebooting: {command: "systemctl reboot"},
	wire.PhaseAssessing: {command: "systemctl is-active"},
}

// Held is a host that blocks in phases of its upgrade until it is released. Its agent reports a phase meanwhile that
// the host otherwise leaves immediately.
type Held struct {
	host   *Host
	phases map[string]*heldPhase
	close  func() error

	mu sync.Mutex
	// left is the number of phases that it still has to be released from.
	left int
}

type heldPhase struct {
	// came is closed when the host blocks in the phase, goOn when it is released.
	came, goOn           chan struct{}
	closeCame, closeGoOn func()
}

// Hold blocks the host in phases of package wire: Fetching, at its beginning; Applying, when half of the image is
// written; Rebooting, before the reboot is requested; and Assessing. Hold can be called again after the host was
// released from all of them.
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

// Came is closed when the host is blocked in the phase.
func (h *Held) Came(phase string) <-chan struct{} { return h.phases[phase].came }

// Release releases the host from the phase, or lets it pass if it has not reached it yet.
func (h *Held) Release(phase string) {
	if p := h.phases[phase]; p != nil {
		p.closeGoOn()
	}
}

// Close releases the host from all phases.
func (h *Held) Close() error {
	for phase := range h.phases {
		h.Release(phase)
	}
	return h.close()
}

// release allows the next Hold.
func (h *Held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left--; h.left == 0 {
		_ = h.close()
	}
}

// meet returns when the command may continue.
func (h *Held) meet(moment rendezvous.Moment) {
	phase := h.phase()
	hold, held := holds[phase], h.phases[phase]
	if held == nil || moment.Done || moment.HalfWay != hold.halfWay || !strings.HasPrefix(strings.Join(moment.Argv, " "), hold.command) {
		return
	}
	held.closeCame()
	<-held.goOn
}

// phase that the agent is in according to its own marker file; empty without one.
func (h *Held) phase() string {
	marker := upgrade.Marker{}
	content, err := os.ReadFile(h.host.Path(agentDir, upgrade.MarkerFile))
	if err != nil || json.Unmarshal(content, &marker) != nil {
		return ""
	}
	return marker.Phase
}
