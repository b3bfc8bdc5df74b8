// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package watchdog

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Variables that systemd passes to a service, see sd_notify(3) and sd_watchdog_enabled(3).
const (
	socketVariable   = "NOTIFY_SOCKET"
	intervalVariable = "WATCHDOG_USEC"
	pidVariable      = "WATCHDOG_PID"
)

// Watchdog of the service manager. The zero value is none.
type Watchdog struct {
	socket string
	within time.Duration
}

// FromEnvironment removes systemd's variables from the environment of this process, so that programs that the agent starts do not notify in
// its place. Without systemd or WatchdogSec it returns the zero value.
func FromEnvironment() (Watchdog, error) {
	socket, interval, pid := os.Getenv(socketVariable), os.Getenv(intervalVariable), os.Getenv(pidVariable)
	for _, variable := range []string{socketVariable, intervalVariable, pidVariable} {
		if err := os.Unsetenv(variable); err != nil {
			return Watchdog{}, fmt.Errorf("removing %s from the environment: %w", variable, err)
		}
	}
	if socket == "" || interval == "" || (pid != "" && pid != strconv.Itoa(os.Getpid())) {
		return Watchdog{}, nil
	}
	microseconds, err := strconv.ParseInt(interval, 10, 64)
	if err != nil || microseconds <= 0 {
		return Watchdog{}, fmt.Errorf("reading the time of systemd's watchdog: %s=%q is not a number of microseconds", intervalVariable, interval)
	}
	return Watchdog{socket: socket, within: time.Duration(microseconds) * time.Microsecond}, nil
}

// Run notifies systemd twice in each watchdog interval, until ctx ends. An operation that the agent waits for, such as a download or the
// elemental CLI, does not stop the notifications: each has a timeout of its own.
func (w Watchdog) Run(ctx context.Context, clock system.Clock, log *slog.Logger) {
	if w.socket == "" {
		return
	}
	for {
		if err := w.tell(ctx); err != nil {
			log.Warn("Notifying systemd's watchdog failed", "error", err)
		}
		if err := system.Wait(ctx, clock, w.within/2); err != nil {
			return
		}
	}
}

func (w Watchdog) tell(ctx context.Context) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unixgram", w.socket)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	_, err = connection.Write([]byte("WATCHDOG=1"))
	return err
}
