// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/cli"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/install"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/power"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
)

// elemental is the CLI on a host of the lab.
func elemental(ctx context.Context, c *Call) int {
	return cli.Call{
		Args: c.Argv[1:], Environ: c.Environ, Stdout: c.Stdout, Stderr: c.Stderr, Now: c.Now,
		On: func(log *logrus.Logger) cli.Host { return host{c, c.simulated(log)} },
	}.Run(ctx)
}

func (c *Call) simulated(log *logrus.Logger) *install.Simulated {
	return &install.Simulated{
		Disk:      c.Disk,
		UserAgent: fmt.Sprintf("elemental-cli/%s (%s)", cli.Version, hostname(c.Disk)),
		// A test that no longer listens must not keep an image from being written.
		HalfWay:  func() { _ = rendezvous.Meet(string(c.Disk), rendezvous.Moment{Argv: c.Argv, HalfWay: true}) },
		CutPower: func() { c.power(power.Request{Action: power.Reboot, Force: true}) },
		Log:      log,
	}
}

// host adds the power switch.
type host struct {
	call *Call
	*install.Simulated
}

// PowerOff implements cli.Host.
func (h host) PowerOff() error { return h.power(power.Off) }

// Reboot implements cli.Host.
func (h host) Reboot() error { return h.power(power.Reboot) }

func (h host) power(action string) error {
	if code := h.call.power(power.Request{Action: action, Force: true}); code != 0 {
		return errors.New("the power switch does not answer")
	}
	return nil
}

func hostname(d disk.Disk) string {
	name, err := os.ReadFile(d.Path("/etc/hostname"))
	if err != nil {
		return "localhost"
	}
	return strings.TrimSpace(string(name))
}
