// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/boot"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/power"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/units"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/etcd"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
)

// running is a booted system: all that runs on the host until it goes down.
type running struct {
	*Host
	system  boot.System
	bootID  string
	console *os.File

	// ctx ends when the power is cut.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// ready is closed when the yip files have run.
	ready chan struct{}
	// assessed is closed when the boot assessment has completed, and then set to nil.
	assessed chan struct{}

	agent   *agent
	restart *time.Timer
	// agentStopped keeps the agent from being restarted.
	agentStopped bool
	joined       *kubelet.Join
	// etcd is the member of a control plane host; nil on others.
	etcd *etcd.Member
	// stopKubelet ends the kubelet.
	stopKubelet context.CancelFunc
}

func newRunning(ctx context.Context, h *Host, system boot.System, id string, console *os.File) *running {
	r := &running{
		Host: h, system: system, bootID: id, console: console,
		ready: make(chan struct{}), assessed: make(chan struct{}),
		restart: time.NewTimer(time.Hour),
	}
	r.restart.Stop()
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.wg.Go(r.setUp)
	return r
}

// setUp runs the yip files; the kubelet and the agent start after them.
func (r *running) setUp() {
	defer close(r.ready)
	for _, stage := range r.cloudInit().Run(r.ctx) {
		if unit := units.OfStage(stage); unit != "" {
			r.unit(unit, units.Failed)
		}
	}
}

// loop handles events until one of them ends the boot.
func (r *running) loop(ctx context.Context) next {
	ready := r.ready
	for {
		select {
		case <-ctx.Done():
			return stopNext
		case <-ready:
			ready = nil
			r.startServices()
		case <-r.agentEnded():
			r.restartLater()
		case <-r.restart.C:
			r.restartAgent()
		case <-r.assessed:
			r.verdict()
		case request := <-r.power.Requests:
			if r.accepts(request) {
				return r.shutDown(ctx, request)
			}
		case c := <-r.control:
			if r.obey(c) {
				return offNext
			}
		}
	}
}

// restartLater simulates systemd's Restart=always with a delay, on live media Restart=on-failure, unless the unit was
// stopped.
func (r *running) restartLater() {
	err := r.agentGone()
	done := err == nil && r.system.Mode == boot.Live
	if !r.agentStopped && !done {
		r.restart.Reset(r.opts.RestartDelay)
	}
}

func (r *running) restartAgent() {
	if r.agent == nil {
		r.startAgent()
	}
}

// accepts reports whether a shutdown request has any effect.
func (r *running) accepts(request power.Request) bool {
	r.event(PowerRequested, "%s", request.By)
	return request.Force || !r.hangs()
}

// startServices starts the services that depend on the network.
func (r *running) startServices() {
	if r.ctx.Err() != nil || r.system.Mode == grub.Recovery {
		return
	}
	r.startKubelet()
	r.startAgent()
	if r.system.HealthCheck {
		r.unit(units.BootAssessment, units.Activating)
		r.wg.Go(r.assess)
	}
}

// obey carries out a request of a test and reports whether it cut the power.
func (r *running) obey(c control) bool {
	switch c.kind {
	case killAgent:
		r.agent.kill()
	case stopAgent:
		r.agentStopped = true
		r.restart.Stop()
		r.agent.kill()
	case startAgent:
		r.agentStopped = false
		r.restart.Reset(0)
	case powerOff:
		r.event(LostPower, "")
		r.isOff = c.done
		return true
	}
	close(c.done)
	return false
}

// shutDown stops everything gracefully, unless the request or a later one forces it.
func (r *running) shutDown(ctx context.Context, request power.Request) next {
	if request.Force {
		return isReboot(request)
	}
	r.leaveCluster()
	stopped := make(chan struct{})
	agent := r.agent
	r.wg.Go(func() {
		defer close(stopped)
		agent.stop(r.ctx, r.opts.ShutdownTimeout)
	})
	for {
		select {
		case <-ctx.Done():
			return stopNext
		case <-stopped:
			return isReboot(request)
		case another := <-r.power.Requests:
			if another.Force {
				r.event(PowerRequested, "%s", another.By)
				return isReboot(another)
			}
		case c := <-r.control:
			if r.obey(c) {
				return offNext
			}
		}
	}
}

// end cuts the power: no process is left when it returns. It can be called twice.
func (r *running) end() {
	r.cancel()
	r.agent.kill()
	r.wg.Wait()
	if r.agent != nil {
		<-r.agent.ended
		_ = r.agentGone()
	}
	r.restart.Stop()
	_ = r.console.Close()
}

// assess is the toolkit's assessment service, which runs only if GRUB requested it.
func (r *running) assess() {
	tries := 1
	if !r.system.Healthy() {
		tries = assessmentTries
	}
	select {
	case <-r.ctx.Done():
	case <-time.After(time.Duration(tries) * r.opts.AssessmentTry):
		close(r.assessed)
	}
}

// verdict records the result of the assessment and, if it failed, requests a reboot, as systemd does when the service
// has failed too often (StartLimitAction=reboot).
func (r *running) verdict() {
	r.assessed = nil
	if !r.system.Healthy() {
		r.unit(units.BootAssessment, units.Failed)
		r.record(func(b *Boot) { b.Outcome = Unhealthy })
		r.event(AssessmentFailed, "snapshot %d", r.system.Snapshot)
		err := power.Ask(r.opts.Root, power.Request{Action: power.Reboot, By: units.BootAssessment})
		if err != nil {
			_, _ = r.console.WriteString(err.Error() + "\n")
		}
		return
	}
	if err := boot.Passed(r.disk); err != nil {
		r.event(AssessmentFailed, "%v", err)
		return
	}
	r.unit(units.BootAssessment, units.Active)
	r.event(AssessmentPassed, "snapshot %d", r.system.Snapshot)
}

func (r *running) unit(name, state string) {
	if err := r.SetUnit(name, state); err != nil {
		_, _ = r.console.WriteString(err.Error() + "\n")
	}
}
