// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
)

// Defaults of the configuration.
const (
	// DefaultPath of the configuration file.
	DefaultPath = "/etc/elemental/agent/config.yaml"
	// DefaultWorkDir is where the agent keeps its state. It has to survive a reboot.
	DefaultWorkDir = "/var/lib/elemental/agent"
	// DefaultReconciliation is the basis of the waits after failed requests.
	DefaultReconciliation = 10 * time.Second
	// DefaultStableWindow is how long a boot has to stay good before it passes.
	DefaultStableWindow = 30 * time.Second
	// DefaultAssessmentTimeout is how long a boot may take to become good.
	DefaultAssessmentTimeout = 10 * time.Minute
	// DefaultHostnamePrefix of random host names.
	DefaultHostnamePrefix = "m-"
	// PluginElemental drives the elemental CLI. It is the default.
	PluginElemental = "elemental"
	// PluginDummy changes only the work directory.
	PluginDummy = "dummy"
)

const (
	// maxStableWindow of a boot.
	maxStableWindow = 5 * time.Minute
	// minAssessmentTimeout leaves systemd and the kubelet time to start.
	minAssessmentTimeout = time.Minute
	maxAssessmentTimeout = time.Hour
)

// Config of an agent.
type Config struct {
	Registration Registration `yaml:"registration" json:"registration"`
	Agent        Agent        `yaml:"agent" json:"agent"`
}

// Registration is how the agent reaches the Elemental API.
type Registration struct {
	// URI of the registration, https unless agent.insecureAllowHttp.
	URI string `yaml:"uri" json:"uri"`
	// CACert is the only certificate authority that is trusted, PEM-encoded.
	CACert string `yaml:"caCert,omitempty" json:"caCert,omitempty"`
	// TokenDuration is not used by the agent; it is kept because the file is written back.
	TokenDuration string `yaml:"tokenDuration,omitempty" json:"tokenDuration,omitempty"`
	// Token that new hosts present.
	Token string `yaml:"token,omitempty" json:"token,omitempty"`
}

// Agent configures the agent itself.
type Agent struct {
	WorkDir               string   `yaml:"workDir,omitempty" json:"workDir,omitempty"`
	Hostname              Hostname `yaml:"hostname,omitempty" json:"hostname,omitempty,omitzero"`
	NoSMBIOS              bool     `yaml:"noSmbios,omitempty" json:"noSmbios,omitempty"`
	Debug                 bool     `yaml:"debug,omitempty" json:"debug,omitempty"`
	OSPlugin              string   `yaml:"osPlugin,omitempty" json:"osPlugin,omitempty"`
	Reconciliation        Duration `yaml:"reconciliation,omitempty" json:"reconciliation,omitempty,omitzero"`
	StableWindow          Duration `yaml:"stableWindow,omitempty" json:"stableWindow,omitempty,omitzero"`
	AssessmentTimeout     Duration `yaml:"assessmentTimeout,omitempty" json:"assessmentTimeout,omitempty,omitzero"`
	InsecureAllowHTTP     bool     `yaml:"insecureAllowHttp,omitempty" json:"insecureAllowHttp,omitempty"`
	InsecureSkipTLSVerify bool     `yaml:"insecureSkipTlsVerify,omitempty" json:"insecureSkipTlsVerify,omitempty"`
	// InsecureRegistries are prefixes of the names of images that may be fetched without verified TLS. Default: none.
	InsecureRegistries []string   `yaml:"insecureRegistries,omitempty" json:"insecureRegistries,omitempty"`
	UseSystemCertPool  bool       `yaml:"useSystemCertPool,omitempty" json:"useSystemCertPool,omitempty"`
	PostInstall        PostAction `yaml:"postInstall,omitempty" json:"postInstall,omitempty,omitzero"`
	PostReset          PostAction `yaml:"postReset,omitempty" json:"postReset,omitempty,omitzero"`
}

// Hostname configures the host's name.
type Hostname struct {
	// UseExisting keeps the name in /etc/hostname.
	UseExisting bool `yaml:"useExisting,omitempty" json:"useExisting,omitempty"`
	// Prefix of a random name.
	Prefix string `yaml:"prefix,omitempty" json:"prefix,omitempty"`
}

// PostAction is what to do after an installation or a reset.
type PostAction struct {
	PowerOff bool `yaml:"powerOff,omitempty" json:"powerOff,omitempty"`
	Reboot   bool `yaml:"reboot,omitempty" json:"reboot,omitempty"`
}

// Duration is written as in Go and Kubernetes, for example "10s".
type Duration time.Duration

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// MarshalText writes a duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Load reads, completes and validates the configuration file at path, which is a real path. Unknown keys are ignored, so that older agents
// accept newer files.
func Load(path string) (Config, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("reading configuration: %w; write what hack/print-agent-config.sh prints for the ElementalRegistration", err)
	}
	config := Config{}
	if err := yaml.Unmarshal(content, &config); err != nil {
		return Config{}, fmt.Errorf("decoding configuration %s: %w", path, err)
	}
	config.complete()
	if err := config.Validate(); err != nil {
		return Config{}, fmt.Errorf("configuration %s: %w", path, err)
	}
	return config, nil
}

// Decode reads a configuration from the JSON that the Elemental API sends.
func Decode(raw json.RawMessage) (Config, error) {
	config := Config{}
	if err := json.Unmarshal(raw, &config); err != nil {
		return Config{}, fmt.Errorf("decoding configuration from the Elemental API: %w", err)
	}
	config.complete()
	return config, config.Validate()
}

// Save writes the configuration for Load.
func Save(path string, config Config) error {
	content, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("encoding configuration: %w", err)
	}
	return system.WriteFile(path, content, 0o600)
}

func (c *Config) complete() {
	setDefault(&c.Agent.WorkDir, DefaultWorkDir)
	setDefault(&c.Agent.Hostname.Prefix, DefaultHostnamePrefix)
	setDefault(&c.Agent.OSPlugin, PluginElemental)
	setDefault(&c.Agent.Reconciliation, Duration(DefaultReconciliation))
	setDefault(&c.Agent.StableWindow, Duration(DefaultStableWindow))
	setDefault(&c.Agent.AssessmentTimeout, Duration(DefaultAssessmentTimeout))
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate returns what is wrong with a configuration, and what to do.
func (c *Config) Validate() error {
	return errors.Join(c.validateURI(), c.validateAgent(), c.validateAssessment(), c.validateRegistries())
}

func (c *Config) validateURI() error {
	uri, err := url.Parse(c.Registration.URI)
	if err != nil {
		return fmt.Errorf("registration.uri %q: %w", c.Registration.URI, err)
	}
	switch {
	case c.Registration.URI == "":
		return errors.New("registration.uri is missing: copy it from status.uri of the ElementalRegistration")
	case uri.Scheme == "http" && !c.Agent.InsecureAllowHTTP:
		return fmt.Errorf("registration.uri %q is not https: use https, or set agent.insecureAllowHttp in a lab", c.Registration.URI)
	case uri.Scheme != "http" && uri.Scheme != "https":
		return fmt.Errorf("registration.uri %q: the scheme has to be https", c.Registration.URI)
	case uri.Host == "":
		return fmt.Errorf("registration.uri %q has no host", c.Registration.URI)
	}
	return nil
}

func (c *Config) validateRegistries() error {
	for i, prefix := range c.Agent.InsecureRegistries {
		if _, err := imageuri.ParsePrefix(prefix); err != nil {
			return fmt.Errorf("agent.insecureRegistries[%d] %q: %w", i, prefix, err)
		}
	}
	return nil
}

func (c *Config) validateAgent() error {
	switch {
	case !filepath.IsAbs(c.Agent.WorkDir):
		return fmt.Errorf("agent.workDir %q has to be an absolute path", c.Agent.WorkDir)
	case c.Agent.OSPlugin != PluginElemental && c.Agent.OSPlugin != PluginDummy:
		return fmt.Errorf("agent.osPlugin %q is not known: use %q or %q", c.Agent.OSPlugin, PluginElemental, PluginDummy)
	case c.Agent.Reconciliation < 0:
		return fmt.Errorf("agent.reconciliation %s is negative", time.Duration(c.Agent.Reconciliation))
	}
	return nil
}

// validateAssessment leaves a boot as much time to become good as it then has to stay good.
func (c *Config) validateAssessment() error {
	window, timeout := time.Duration(c.Agent.StableWindow), time.Duration(c.Agent.AssessmentTimeout)
	least := max(minAssessmentTimeout, 2*window)
	switch {
	case window < 0 || window > maxStableWindow:
		return fmt.Errorf("agent.stableWindow %s has to be from 0 to %s", window, maxStableWindow)
	case timeout < least || timeout > maxAssessmentTimeout:
		return fmt.Errorf("agent.assessmentTimeout %s has to be from %s to %s: at least a minute, and twice agent.stableWindow",
			timeout, least, maxAssessmentTimeout)
	}
	return nil
}
