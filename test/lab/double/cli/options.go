// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
)

// options of the elemental CLI; flags win over the environment, and that over its configuration.
type options struct {
	// name of the command, and its arguments.
	name string
	args []string

	// system is the source of the command, and target the disk of an installation.
	system, recoverySystem, target string
	recovery                       bool
	labels                         map[string]string
	cloudInit, cloudInitPaths      []string
	resetOEM, resetPersistent      bool
	reboot, powerOff, strict       bool
	debug, quiet                   bool
	configDir                      string
}

// configuration is the part of the CLI's configuration that is simulated, of config.yaml and then of the files in config.d.
type configuration struct {
	CloudInitPaths []string `yaml:"cloud-init-paths"`
	Strict         bool     `yaml:"strict"`
	Upgrade        struct {
		System         string `yaml:"system"`
		Recovery       bool   `yaml:"recovery"`
		RecoverySystem struct {
			URI string `yaml:"uri"`
		} `yaml:"recovery-system"`
	} `yaml:"upgrade"`
}

func (r *run) configuration(dir string) (configuration, error) {
	read := configuration{}
	files := []string{filepath.Join(dir, "config.yaml")}
	more, err := filepath.Glob(filepath.Join(dir, "config.d", "*.yaml"))
	if err != nil {
		return read, err
	}
	for _, file := range append(files, more...) {
		content, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return read, err
		}
		if err := yaml.Unmarshal(content, &read); err != nil {
			return read, err
		}
	}
	return read, nil
}

func (r *run) parse() (options, error) {
	o := options{}
	var labels string
	f := pflag.NewFlagSet("elemental", pflag.ContinueOnError)
	f.SetOutput(r.Stderr)
	f.StringVar(&o.system, "system", "", "")
	f.StringVar(&o.recoverySystem, "recovery-system.uri", "", "")
	f.BoolVar(&o.recovery, "recovery", r.truthy("UPGRADE_RECOVERY"), "")
	f.StringVar(&labels, "snapshot-labels", "", "")
	f.BoolVar(&o.resetOEM, "reset-oem", r.truthy("RESET_OEM"), "")
	f.BoolVar(&o.resetPersistent, "reset-persistent", r.truthy("RESET_PERSISTENT"), "")
	f.BoolVar(&o.reboot, "reboot", r.truthy("REBOOT"), "")
	f.BoolVar(&o.powerOff, "poweroff", r.truthy("POWEROFF"), "")
	f.BoolVar(&o.strict, "strict", r.truthy("STRICT"), "")
	f.BoolVar(&o.debug, "debug", false, "")
	f.BoolVar(&o.quiet, "quiet", false, "")
	f.StringSliceVar(&o.cloudInit, "cloud-init", nil, "")
	f.StringSliceVar(&o.cloudInitPaths, "cloud-init-paths", nil, "")
	f.StringVar(&o.configDir, "config-dir", "/etc/elemental", "")
	// These have no effect here; tls-verify has no effect in the real CLI either.
	for _, name := range []string{"bootloader", "local", "cosign", "verify", "tls-verify", "force", "mkinitrd"} {
		f.Bool(name, false, "")
	}
	for _, name := range []string{"logfile", "cosign-key"} {
		f.String(name, "", "")
	}
	if err := f.Parse(r.Args); err != nil {
		return o, err
	}
	if f.NArg() == 0 || f.NArg() > 1 && f.Arg(0) != "install" && f.Arg(0) != "run-stage" {
		return o, errOneCommand
	}
	o.name, o.args = f.Arg(0), f.Args()[1:]
	configured, err := r.configuration(r.host.Path(o.configDir))
	if err != nil {
		return o, err
	}
	r.complete(&o, configured, labels)
	return o, nil
}

// complete takes what no flag has set from the environment and the configuration.
func (r *run) complete(o *options, configured configuration, labels string) {
	prefix := strings.ToUpper(o.name) + "_"
	o.system = cmp.Or(o.system, r.variable(prefix+"SYSTEM"))
	o.recoverySystem = cmp.Or(o.recoverySystem, r.variable(prefix+"RECOVERY_SYSTEM"))
	o.labels = parseLabels(cmp.Or(labels, r.variable(prefix+"SNAPSHOT_LABELS")))
	o.target = r.variable(prefix + "TARGET")
	if len(o.args) > 0 {
		o.target = o.args[0]
	}
	if len(o.cloudInit) == 0 {
		o.cloudInit = list(r.variable(prefix + "CLOUD_INIT"))
	}
	if len(o.cloudInitPaths) == 0 {
		o.cloudInitPaths = list(r.variable("CLOUD_INIT_PATHS"))
	}
	if len(o.cloudInitPaths) == 0 {
		o.cloudInitPaths = configured.CloudInitPaths
	}
	o.cloudInitPaths = append(defaultCloudInitPaths(), o.cloudInitPaths...)
	o.strict = o.strict || configured.Strict
	if o.name == "upgrade" {
		o.system = cmp.Or(o.system, configured.Upgrade.System)
		o.recoverySystem = cmp.Or(o.recoverySystem, configured.Upgrade.RecoverySystem.URI)
		o.recovery = o.recovery || configured.Upgrade.Recovery && r.variable("UPGRADE_RECOVERY") == ""
	}
}

// defaultCloudInitPaths are always among the directories with cloud-init files. Source: elemental-toolkit v2.3.2, RunConfig.Sanitize.
func defaultCloudInitPaths() []string {
	return []string{"/system/oem", disk.OEMDir + "/", "/usr/local/cloud-config/"}
}

// variable is a variable of the environment that the CLI reads.
func (r *run) variable(name string) string { return r.getenv("ELEMENTAL_" + name) }

func (r *run) truthy(name string) bool {
	value := strings.ToLower(r.variable(name))
	return value == "true" || value == "1"
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// parseLabels parses "name=value,name=value".
func parseLabels(text string) map[string]string {
	if text == "" {
		return nil
	}
	labels := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		labels[strings.TrimSpace(name)] = value
	}
	return labels
}
