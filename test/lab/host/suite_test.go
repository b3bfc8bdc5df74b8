// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// stubName is the name under which the test binary acts as the agent.
const stubName = "stub-agent"

// TestMain lets the test binary act as the host's commands and as a stub of the agent.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == stubName:
		os.Exit(stub())
	case double.Is(os.Args[0]):
		os.Exit(double.Main())
	default:
		os.Exit(m.Run())
	}
}

// stub is an agent that prints its arguments and how it was asked to stop. With "reset" it resets
// the host.
func stub() int {
	root := os.Getenv(double.RootEnv)
	say(root, strings.Join(os.Args[1:], " "))
	if os.Args[1] == "reset" {
		reset := exec.Command("elemental", "reset", "--reset-persistent")
		reset.Stdout, reset.Stderr = os.Stdout, os.Stderr
		if err := reset.Run(); err != nil {
			return 1
		}
		return 0
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	for {
		<-stop
		say(root, "terminated")
		if _, err := os.Stat(root + "/lab/stubborn"); err != nil {
			return 0
		}
	}
}

func say(root, text string) {
	f, err := os.OpenFile(root+"/lab/stub", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = fmt.Fprintln(f, text)
		_ = f.Close()
	}
}

func TestHost(t *testing.T) {
	specs.Run(t, "Hosts of the lab")
}
