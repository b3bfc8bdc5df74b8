// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// RKE2Server is the unit of a control plane host of RKE2, which runs its kubelet.
	RKE2Server = "rke2-server.service"
	// RKE2Agent is that of a worker.
	RKE2Agent = "rke2-agent.service"
	// rke2Serving is the Secret by which CAPRKE2 tells that a control plane is initialized.
	rke2Serving = "rke2-serving"
)

// rke2Config is the part of RKE2's config.yaml that is used.
type rke2Config struct {
	Server      string   `yaml:"server"`
	Token       string   `yaml:"token"`
	NodeName    string   `yaml:"node-name"`
	NodeLabels  []string `yaml:"node-label"`
	NodeTaints  []string `yaml:"node-taint"`
	KubeletArgs []string `yaml:"kubelet-arg"`
}

// IsRKE2 reports whether a unit is RKE2's.
func IsRKE2(unit string) bool { return unit == RKE2Server || unit == RKE2Agent }

// ParseRKE2 parses config.yaml of a server or an agent of RKE2, by its unit. hostname names the Node if the configuration does not. The
// first server of a cluster has no other that it joins.
func ParseRKE2(data []byte, unit, hostname string) (join Join, isFirst bool, err error) {
	config := rke2Config{}
	if err := yaml.Unmarshal(data, &config); err != nil {
		return Join{}, false, fmt.Errorf("reading RKE2's configuration: %w", err)
	}
	if config.Token == "" {
		return Join{}, false, errors.New("reading RKE2's configuration: it has no token")
	}
	join = Join{NodeName: config.NodeName, Service: unit, Labels: map[string]string{}}
	if unit == RKE2Server {
		join.ControlPlane = true
		join.Labels[controlPlaneLabel], join.Labels["node-role.kubernetes.io/etcd"] = "true", "true"
	}
	if join.NodeName == "" {
		join.NodeName = hostname
	}
	for _, pair := range config.NodeLabels {
		name, value, _ := strings.Cut(pair, "=")
		join.Labels[name] = value
	}
	for _, arg := range config.KubeletArgs {
		if id, isProviderID := strings.CutPrefix(arg, "provider-id="); isProviderID {
			join.ProviderID = id
		}
	}
	join.Taints, err = parseTaints(strings.Join(config.NodeTaints, ","))
	return join, unit == RKE2Server && config.Server == "", err
}

// CreateServing makes the Secret that the first server of RKE2 makes once its API serves.
func (w *Writer) CreateServing(ctx context.Context) error {
	_, err := w.client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: rke2Serving, Namespace: metav1.NamespaceSystem},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making Secret %s: %w", rke2Serving, err)
	}
	return nil
}
