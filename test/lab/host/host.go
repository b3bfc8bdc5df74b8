// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/boot"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/calls"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/install"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/power"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/units"
)

// AgentConfig is the path of the agent's configuration on a host.
const AgentConfig = "/etc/elemental/agent/config.yaml"

const (
	binDir     = "/lab/bin"
	agentLog   = "/lab/agent.log"
	consoleLog = "/lab/console.log"
)

// Host of the lab.
type Host struct {
	opts    Options
	disk    disk.Disk
	power   *power.Listener
	control chan control
	stop    context.CancelFunc
	done    chan struct{}
	stopped sync.Once
	// isOff is closed when the host is down, for the test that has cut its power.
	isOff chan struct{}

	mu       sync.Mutex
	boots    []Boot
	hanging  bool
	agentPID int
}

// New returns a host with an installed OS, or with live media; it is powered off. An existing root directory of a host
// is reused.
func New(ctx context.Context, o Options) (*Host, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	h := &Host{opts: o, disk: disk.Disk(o.Root), control: make(chan control), done: make(chan struct{})}
	if err := double.Link(o.Double, h.disk.Path(binDir)); err != nil {
		return nil, err
	}
	if _, err := os.Stat(h.disk.State(disk.StateFile)); err == nil {
		return h, nil
	}
	if o.Live {
		return h, h.insertMedia(ctx)
	}
	if err := h.install(ctx); err != nil {
		return nil, fmt.Errorf("installing host %s: %w", o.Name, err)
	}
	h.event(Installed, "%s", o.Image)
	return h, nil
}

// SerialNumber is the firmware serial number of a host that runs from live media.
func SerialNumber(name string) string { return "SN-" + name }

// insertMedia puts live media into the drive of an uninstalled host.
func (h *Host) insertMedia(ctx context.Context) error {
	src, err := source.Parse(h.opts.Image)
	if err != nil {
		return err
	}
	transport, err := h.transport()
	if err != nil {
		return err
	}
	if err := boot.Insert(ctx, h.disk, src, source.Options{Transport: transport}); err != nil {
		return err
	}
	return errors.Join(
		h.disk.WriteFile(LiveDevice, nil),
		h.disk.WriteFile("/sys/class/dmi/id/product_serial", []byte(SerialNumber(h.opts.Name)+"\n")))
}

func (h *Host) install(ctx context.Context) error {
	src, err := source.Parse(h.opts.Image)
	if err != nil {
		return err
	}
	transport, err := h.transport()
	if err != nil {
		return err
	}
	action := &install.Action{
		System: src, Host: &install.Simulated{Disk: h.disk, Transport: transport, UserAgent: "elemental-install (" + h.opts.Name + ")"},
	}
	if err := action.Install(ctx); err != nil {
		return err
	}
	if h.opts.StateBytes > 0 {
		if err := h.disk.SetStateBytes(h.opts.StateBytes); err != nil {
			return err
		}
	}
	return errors.Join(h.nameMachine(), h.disk.WriteFile(AgentConfig, h.opts.Config))
}

// nameMachine gives the host a machine ID and the host name that its network assigns, if it has none because it is new
// or was reset.
func (h *Host) nameMachine() error {
	id, err := newID()
	if err != nil {
		return err
	}
	for path, content := range map[string]string{"/etc/machine-id": id, "/etc/hostname": h.opts.Name} {
		if _, err := os.Stat(h.disk.Path(path)); err == nil {
			continue
		}
		if err := h.disk.WriteFile(path, []byte(content+"\n")); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) transport() (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if h.opts.CABundle == "" {
		return t, nil
	}
	bundle, err := os.ReadFile(h.opts.CABundle)
	if err != nil {
		return nil, fmt.Errorf("reading CA bundle: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// newID is a random ID of 32 hexadecimal digits.
func newID() (string, error) {
	id := make([]byte, 16)
	_, err := rand.Read(id)
	return hex.EncodeToString(id), err
}

// Start powers the host on and returns immediately. The host runs until Stop, even if ctx ends.
func (h *Host) Start(ctx context.Context) error {
	listener, err := power.Listen(h.opts.Root)
	if err != nil {
		return err
	}
	h.power = listener
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = cancel
	go h.run(running)
	return nil
}

// Stop cuts the power and ends the host. It can be recreated with the same root directory.
func (h *Host) Stop() error {
	if h.stop == nil {
		return nil
	}
	var err error
	h.stopped.Do(func() {
		h.stop()
		<-h.done
		err = h.power.Close()
	})
	return err
}

// Name is the initial hostname.
func (h *Host) Name() string { return h.opts.Name }

// Path maps a path of the host to the machine.
func (h *Host) Path(parts ...string) string { return h.disk.Path(parts...) }

// Disk of the host.
func (h *Host) Disk() disk.Disk { return h.disk }

// Boots are all boots since Start, oldest first.
func (h *Host) Boots() []Boot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.boots)
}

// AgentPID is the process ID of the agent; 0 if none runs.
func (h *Host) AgentPID() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.agentPID
}

// Calls are the commands that ran on the host, oldest first.
func (h *Host) Calls() ([]calls.Call, error) { return calls.Read(h.opts.Root) }

// Upgrades is how often `elemental upgrade` was called.
func (h *Host) Upgrades() (int, error) {
	all, err := h.Calls()
	n := 0
	for _, c := range all {
		if c.Is("elemental", "upgrade") {
			n++
		}
	}
	return n, err
}

// Booted is what is booted; the zero value while the host is down.
func (h *Host) Booted() (disk.Boot, error) { return h.disk.Booted() }

// BootedSnapshot is the id of the booted snapshot; 0 while the host is down or in recovery.
func (h *Host) BootedSnapshot() (int, error) {
	b, err := h.disk.Booted()
	return b.Snapshot, err
}

// State is the host's state.yaml.
func (h *Host) State() (*state.File, error) { return state.Read(h.disk.State(disk.StateFile)) }

// GrubEnv are the variables of grubenv.
func (h *Host) GrubEnv() (*grub.Env, error) { return grub.Read(h.disk.GrubEnv()) }

// GrubOEMEnv are the variables of grub_oem_env.
func (h *Host) GrubOEMEnv() (*grub.Env, error) { return grub.Read(h.disk.GrubOEMEnv()) }

// SetUnit sets the state of a systemd unit until the next boot, for example to make one fail.
func (h *Host) SetUnit(name, state string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return units.Set(h.opts.Root, name, state)
}

// HangShutdown makes systemd accept requests for a graceful reboot or power-off without acting on them, until a forced
// one is requested.
func (h *Host) HangShutdown(hang bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hanging = hang
}

func (h *Host) hangs() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hanging
}

func (h *Host) event(t EventType, format string, args ...any) {
	h.opts.OnEvent(Event{Time: time.Now(), Host: h.opts.Name, Type: t, Message: fmt.Sprintf(format, args...)})
}

// record changes the last boot.
func (h *Host) record(change func(b *Boot)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.boots[len(h.boots)-1])
}
