// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin/dummy"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin/elemental"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/version"
)

const (
	imagesDir = "images"
	// maxWaits is the longest wait after failed requests, as a multiple of agent.reconciliation.
	maxWaits = 6
)

// Options of an Agent. Only Config is needed.
type Options struct {
	// Config of the agent, complete: from config.Load or config.Decode.
	Config config.Config
	// ConfigPath is the file that Config was read from; a reset keeps it. A real path.
	ConfigPath string
	// Host the agent runs on. Default: the machine, with root "/".
	Host *system.Host
	// Plugin for the OS. Default: what Config says.
	Plugin osplugin.Plugin
	// Images of the OS. Default: an image store in the work directory, or the dummy plugin's.
	Images Images
	// Log for the host's journal. Default slog.Default().
	Log *slog.Logger
	// Transport to the Elemental API. Default: one that trusts what Config says.
	Transport http.RoundTripper
	// Wait is how long the API is asked to keep a request open. Default 5 minutes.
	Wait time.Duration
	// UpgradePolicy holds the limits of an upgrade. Default upgrade.DefaultPolicy with Config's stable window and assessment timeout.
	UpgradePolicy upgrade.Policy
	// Idle is called whenever the agent has nothing left to do. Default: nothing.
	Idle func()
}

// Agent of one host.
type Agent struct {
	Options
	workDir string
}

// New completes the options and returns an agent.
func New(options Options) (*Agent, error) {
	if options.Host == nil {
		options.Host = system.NewHost("/")
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	if options.Transport == nil {
		transport, err := client.NewTransport(options.Config)
		if err != nil {
			return nil, fmt.Errorf("preparing the connection to the Elemental API: %w", err)
		}
		options.Transport = transport
	}
	if options.UpgradePolicy == (upgrade.Policy{}) {
		options.UpgradePolicy = upgrade.DefaultPolicy
		options.UpgradePolicy.StableWindow = time.Duration(options.Config.Agent.StableWindow)
		options.UpgradePolicy.AssessTimeout = time.Duration(options.Config.Agent.AssessmentTimeout)
	}
	agent := &Agent{Options: options, workDir: options.Host.Path(options.Config.Agent.WorkDir)}
	if err := os.MkdirAll(agent.workDir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the work directory: %w", err)
	}
	agent.choosePlugin()
	return agent, nil
}

func (a *Agent) choosePlugin() {
	isDummy := a.Config.Agent.OSPlugin == config.PluginDummy
	if a.Images == nil {
		a.Images = image.NewStore(image.Options{Directory: filepath.Join(a.workDir, imagesDir), Insecure: a.Config.Agent.InsecureRegistries, Clock: a.Host.Clock})
		if isDummy {
			a.Images = dummy.Images{}
		}
	}
	if a.Plugin != nil {
		return
	}
	a.Plugin = elemental.New(elemental.Options{Host: a.Host, Log: a.Log, WorkDir: a.workDir, ConfigPath: a.ConfigPath})
	if isDummy {
		a.Plugin = dummy.New(a.workDir)
	}
}

// connect makes the identity, if there is none, and a client with it.
func (a *Agent) connect() (*client.Client, *identity.Identity, error) {
	if err := a.adopt(); err != nil {
		return nil, nil, err
	}
	host, err := identity.Load(a.Host, a.workDir, a.Config.Agent.Hostname)
	if err != nil {
		return nil, nil, err
	}
	return a.clientOf(host), host, nil
}

func (a *Agent) clientOf(host *identity.Identity) *client.Client {
	return client.New(client.Options{
		URI: a.Config.Registration.URI, Token: a.Config.Registration.Token, Identity: host,
		Transport: a.Transport, Clock: a.Host.Clock, UserAgent: "elemental-agent/" + version.Version, SMBIOS: a.smbios,
	})
}

// policy for failed requests.
func (a *Agent) policy() retry.Policy {
	policy := retry.API
	policy.Max = maxWaits * time.Duration(a.Config.Agent.Reconciliation)
	return policy
}

// persist repeats an action until it succeeds or ctx ends.
func (a *Agent) persist(ctx context.Context, doing string, action func() error) error {
	for failures := 1; ; failures++ {
		err := action()
		if err == nil {
			return nil
		}
		a.Log.Warn("Failed, trying again", "doing", doing, "error", err, "failures", failures)
		if err := system.Wait(ctx, a.Host.Clock, a.policy().DelayAfter(err, failures)); err != nil {
			return err
		}
	}
}
