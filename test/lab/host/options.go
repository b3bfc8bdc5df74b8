// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
)

// Defaults of Options.
const (
	DefaultBootTime        = time.Second
	DefaultAssessmentTry   = 200 * time.Millisecond
	DefaultShutdownTimeout = 10 * time.Second
	DefaultRestartDelay    = 500 * time.Millisecond
	DefaultKubeletVersion  = "v1.36.3"
)

// LiveDevice is the disk of a host that runs from live media.
const LiveDevice = "/dev/vda"

// assessmentTries is how often the toolkit's service tries before it reboots. Source: elemental-toolkit v2.3.2,
// elemental-boot-assessment.service (StartLimitBurst).
const assessmentTries = 5

// Options of a host.
type Options struct {
	// Name is the hostname.
	Name string
	// Root is the directory of the host.
	Root string
	// Image is the URI of the image that is installed on an empty disk.
	Image string
	// Live leaves the disk, LiveDevice, empty. Image is then on live media in the drive, with Config and the agent,
	// which installs the host. The media is booted whenever the disk has no boot loader.
	Live bool
	// Double is the multi-call binary with the host's commands (test/lab/cmd/hostdouble).
	Double string
	// Agent is the elemental-agent binary.
	Agent string
	// Etcd is the etcd binary. Without one the host cannot be a control plane.
	Etcd string
	// AgentArgs are the agent's arguments; default: run --root ROOT --config ROOT/etc/elemental/agent/config.yaml.
	AgentArgs []string
	// Config is the content of the agent's configuration file.
	Config []byte
	// CABundle is a file with the CAs that the host trusts for image registries.
	CABundle string
	// Path has directories with further commands for the agent, besides the test doubles.
	Path []string
	// Env has further variables for the agent.
	Env []string
	// Kubelet simulates the kubelet. Without one the host has no Node.
	Kubelet Kubelet
	// KubeletVersion of images that do not name one. Default DefaultKubeletVersion.
	KubeletVersion string
	// BootTime is the time from power-on to a running system, and that of the reboot of a panicked kernel.
	BootTime time.Duration
	// AssessmentTry is how long one try of the boot assessment takes. It is 30 s on a real host.
	AssessmentTry time.Duration
	// ShutdownTimeout is the time in which the agent must stop before it is killed.
	ShutdownTimeout time.Duration
	// RestartDelay is the delay after which an agent that exited is restarted.
	RestartDelay time.Duration
	// StateBytes is the size of the state partition. Default 8 GiB.
	StateBytes int64
	// OnEvent is called with events. It can be called concurrently, and must not wait for the host.
	OnEvent func(Event)
}

// Kubelet simulates the kubelet of a host; *kubelet.Writer implements it.
type Kubelet interface {
	// Register creates the Node, which `kubeadm join` waits for.
	Register(ctx context.Context, b kubelet.Boot) error
	// Run runs the kubelet until ctx ends.
	Run(ctx context.Context, b kubelet.Boot)
	// ShutDown reports on the Node that the host shuts down.
	ShutDown(ctx context.Context, name string) error

	// Address that the host of a Node has.
	Address(node string) string
	// UploadConfig stores the ClusterConfiguration, as `kubeadm init` does.
	UploadConfig(ctx context.Context, clusterConfiguration []byte) error
	// EtcdEndpoints finds the etcd members of the cluster, as `kubeadm join` does.
	EtcdEndpoints(ctx context.Context) ([]string, error)
	// CreateServing makes the Secret that tells that RKE2 serves, as its first server does.
	CreateServing(ctx context.Context) error
}

func (o *Options) complete() error {
	switch {
	case o.Name == "":
		return errors.New("a host needs a name")
	case o.Root == "":
		return errors.New("a host needs a root directory")
	case o.Double == "" || o.Agent == "":
		return errors.New("a host needs the hostdouble and elemental-agent binaries")
	}
	// The agent runs in another working directory.
	for _, path := range []*string{&o.Root, &o.Double, &o.Agent} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("resolving %s: %w", *path, err)
		}
		*path = absolute
	}
	orElse(&o.BootTime, DefaultBootTime)
	orElse(&o.AssessmentTry, DefaultAssessmentTry)
	orElse(&o.ShutdownTimeout, DefaultShutdownTimeout)
	orElse(&o.RestartDelay, DefaultRestartDelay)
	orElse(&o.KubeletVersion, DefaultKubeletVersion)
	if o.OnEvent == nil {
		o.OnEvent = func(Event) {}
	}
	return nil
}

func orElse[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}
