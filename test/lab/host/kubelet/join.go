// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const joinFile = "var/lib/kubelet/lab-join.json"

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// Join is what kubeadm or RKE2 leaves on the host: how its kubelet registers. It survives reboots.
type Join struct {
	NodeName     string            `json:"nodeName"`
	Labels       map[string]string `json:"labels,omitempty"`
	Taints       []corev1.Taint    `json:"taints,omitempty"`
	ProviderID   string            `json:"providerID,omitempty"`
	ControlPlane bool              `json:"controlPlane,omitempty"`
	// Service is the unit that runs the kubelet, if it has none of its own.
	Service string `json:"service,omitempty"`
}

// configuration is the part of kubeadm's InitConfiguration and JoinConfiguration that is used.
type configuration struct {
	Kind             string     `yaml:"kind"`
	APIVersion       string     `yaml:"apiVersion"`
	ControlPlane     *yaml.Node `yaml:"controlPlane"`
	Discovery        *discovery `yaml:"discovery"`
	NodeRegistration struct {
		Name             string         `yaml:"name"`
		Taints           []corev1.Taint `yaml:"taints"`
		KubeletExtraArgs args           `yaml:"kubeletExtraArgs"`
	} `yaml:"nodeRegistration"`
}

type discovery struct {
	BootstrapToken *struct {
		APIServerEndpoint string `yaml:"apiServerEndpoint"`
		Token             string `yaml:"token"`
	} `yaml:"bootstrapToken"`
	File *struct {
		KubeConfigPath string `yaml:"kubeConfigPath"`
	} `yaml:"file"`
}

// args are the kubelet's arguments: a map up to kubeadm v1beta3, a list since.
type args map[string]string

// UnmarshalYAML accepts both forms.
func (a *args) UnmarshalYAML(node *yaml.Node) error {
	*a = args{}
	if node.Kind == yaml.MappingNode {
		return node.Decode((*map[string]string)(a))
	}
	var list []struct{ Name, Value string }
	if err := node.Decode(&list); err != nil {
		return err
	}
	for _, each := range list {
		(*a)[each.Name] = each.Value
	}
	return nil
}

// ParseKubeadm parses a kubeadm configuration. kind is InitConfiguration or JoinConfiguration, and
// hostname names the Node if the configuration does not.
func ParseKubeadm(data []byte, kind, hostname string) (Join, error) {
	documents := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var c configuration
		err := documents.Decode(&c)
		if errors.Is(err, io.EOF) {
			return Join{}, fmt.Errorf("reading kubeadm configuration: no %s in it", kind)
		}
		if err != nil {
			return Join{}, fmt.Errorf("reading kubeadm configuration: %w", err)
		}
		if c.Kind == kind {
			return c.join(hostname)
		}
	}
}

// ClusterConfiguration returns the document of that kind in a kubeadm configuration.
func ClusterConfiguration(data []byte) ([]byte, error) {
	documents := yaml.NewDecoder(bytes.NewReader(data))
	for {
		document := map[string]any{}
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("reading kubeadm configuration: no %s in it", clusterConfigurationKey)
		}
		if err != nil {
			return nil, fmt.Errorf("reading kubeadm configuration: %w", err)
		}
		if document["kind"] == clusterConfigurationKey {
			return yaml.Marshal(document)
		}
	}
}

func (c configuration) join(hostname string) (Join, error) {
	if !strings.HasPrefix(c.APIVersion, "kubeadm.k8s.io/") {
		return Join{}, fmt.Errorf("%s: apiVersion %q is not kubeadm's", c.Kind, c.APIVersion)
	}
	init := c.Kind == "InitConfiguration"
	if !init && !c.Discovery.complete() {
		return Join{}, fmt.Errorf("%s: discovery: one of bootstrapToken (with token and apiServerEndpoint) and file is needed", c.Kind)
	}
	j := Join{NodeName: c.NodeRegistration.Name, Taints: c.NodeRegistration.Taints, Labels: map[string]string{}}
	j.ControlPlane = init || c.ControlPlane != nil
	if j.NodeName == "" {
		j.NodeName = hostname
	}
	if problems := validation.IsDNS1123Subdomain(j.NodeName); len(problems) > 0 {
		return Join{}, fmt.Errorf("%s: nodeRegistration.name %q: %s", c.Kind, j.NodeName, problems[0])
	}
	for pair := range strings.SplitSeq(c.NodeRegistration.KubeletExtraArgs["node-labels"], ",") {
		if name, value, _ := strings.Cut(pair, "="); name != "" {
			j.Labels[name] = value
		}
	}
	if j.ControlPlane {
		j.Labels[controlPlaneLabel] = ""
		if c.NodeRegistration.Taints == nil {
			j.Taints = []corev1.Taint{{Key: controlPlaneLabel, Effect: corev1.TaintEffectNoSchedule}}
		}
	}
	j.ProviderID = c.NodeRegistration.KubeletExtraArgs["provider-id"]
	taints, err := parseTaints(c.NodeRegistration.KubeletExtraArgs["register-with-taints"])
	j.Taints = slices.Concat(j.Taints, taints)
	return j, err
}

func (d *discovery) complete() bool {
	switch {
	case d == nil:
		return false
	case d.BootstrapToken != nil:
		return d.BootstrapToken.Token != "" && d.BootstrapToken.APIServerEndpoint != ""
	default:
		return d.File != nil && d.File.KubeConfigPath != ""
	}
}

// parseTaints parses "key=value:Effect,key:Effect".
func parseTaints(text string) ([]corev1.Taint, error) {
	var taints []corev1.Taint
	for each := range strings.SplitSeq(text, ",") {
		if each == "" {
			continue
		}
		name, effect, ok := strings.Cut(each, ":")
		if !ok {
			return nil, fmt.Errorf("register-with-taints: %q has no effect", each)
		}
		key, value, _ := strings.Cut(name, "=")
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return taints, nil
}

// Save stores the join on the host with this root.
func (j Join) Save(root string) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	path := filepath.Join(root, joinFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("keeping kubelet configuration: %w", err)
	}
	return os.WriteFile(path, data, 0o600)
}

// LoadJoin returns the join of a host; ok is false if it has not joined a cluster.
func LoadJoin(root string) (j Join, ok bool, err error) {
	data, err := os.ReadFile(filepath.Join(root, joinFile))
	if errors.Is(err, os.ErrNotExist) {
		return Join{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	if err != nil {
		return Join{}, false, fmt.Errorf("reading kubelet configuration: %w", err)
	}
	return j, true, nil
}

// clone copies the maps of a Join, so that they are not shared.
func (j Join) clone() Join {
	j.Labels, j.Taints = maps.Clone(j.Labels), slices.Clone(j.Taints)
	return j
}
