// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

//go:embed manifests
var manifests embed.FS

// Names of what the manifests create.
const (
	Registration = "racks"
	Template     = "workers"
	Deployment   = "workers"
	// KubernetesVersion of the workers.
	KubernetesVersion = "v1.36.3"
	// Repository of the OS images.
	Repository = "elemental-os"
)

// Options of a cluster.
type Options struct {
	// Name of the Cluster and its Namespace. Default demo.
	Name string
	// Workers of its MachineDeployment. Default 3.
	Workers int
	// Spare hosts that register and are not needed.
	Spare int
	// MaxSurge of the MachineDeployment. Default 0.
	MaxSurge int
	// Replacement policy; empty is the default.
	Replacement string
}

// Cluster is a cluster of Elemental workers.
type Cluster struct {
	Lab     *lab.Lab
	Options Options
	// Image that the hosts were installed with.
	Image image.Image
	// Told is called with each command before it is run. Default: nobody.
	Told func(command string)
}

// New completes the options. Nothing is created yet.
func New(l *lab.Lab, options Options) *Cluster {
	if options.Name == "" {
		options.Name = "demo"
	}
	if options.Workers == 0 {
		options.Workers = 3
	}
	return &Cluster{Lab: l, Options: options, Told: func(string) {}}
}

// Namespace of everything.
func (c *Cluster) Namespace() string { return c.Options.Name }

// HostName of the n-th host, from 1.
func (c *Cluster) HostName(n int) string { return fmt.Sprintf("%s-node-%d", c.Options.Name, n) }

// PushImage builds an OS image and pushes it under a tag.
func (c *Cluster) PushImage(ctx context.Context, tag string, os image.OS) (image.Image, error) {
	if os.Version == "" {
		os.Version = "Elemental OS " + tag
	}
	if os.KubeletVersion == "" {
		os.KubeletVersion = KubernetesVersion
	}
	return c.Lab.Registry.Push(ctx, Repository+"/"+c.Options.Name, tag, os)
}

// Create has the hosts register, applies the manifests with kubectl and waits until all workers are up.
func (c *Cluster) Create(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		c.installImage, c.register, c.apply, c.AwaitWorkers,
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("creating cluster %s: %w", c.Options.Name, err)
		}
	}
	return nil
}

func (c *Cluster) installImage(ctx context.Context) (err error) {
	c.Image, err = c.PushImage(ctx, "v1", image.OS{})
	return err
}

// register creates the registration and switches the hosts on.
func (c *Cluster) register(ctx context.Context) error {
	if err := c.Lab.CreateNamespace(ctx, c.Namespace()); err != nil {
		return err
	}
	if err := c.ApplyManifest(ctx, "registration.yaml.tmpl"); err != nil {
		return err
	}
	config, err := c.Lab.AgentConfig(ctx, c.Namespace(), Registration)
	if err != nil {
		return err
	}
	for n := range c.Options.Workers + c.Options.Spare {
		if _, err := c.Lab.AddHost(ctx, c.HostName(n+1), c.Image, config); err != nil {
			return err
		}
	}
	return c.AwaitHosts(ctx)
}

func (c *Cluster) apply(ctx context.Context) error {
	if err := c.Lab.ConnectWorkload(ctx, c.Namespace(), c.Options.Name); err != nil {
		return err
	}
	if err := c.ApplyManifest(ctx, "cluster.yaml.tmpl"); err != nil {
		return err
	}
	return c.Lab.InitializeControlPlane(ctx, c.Namespace(), c.Options.Name)
}

// ApplyManifest renders a manifest into the lab's folder and applies it with kubectl.
func (c *Cluster) ApplyManifest(ctx context.Context, name string) error {
	file, err := c.render(name)
	if err != nil {
		return err
	}
	_, err = c.Kubectl(ctx, "apply", "--filename", file)
	return err
}

// render writes a manifest to where a person can read it.
func (c *Cluster) render(name string) (string, error) {
	parsed, err := template.ParseFS(manifests, "manifests/"+name)
	if err != nil {
		return "", fmt.Errorf("parsing %s: %w", name, err)
	}
	text := &bytes.Buffer{}
	err = parsed.Execute(text, map[string]any{
		"Name": c.Options.Name, "Namespace": c.Namespace(), "Host": c.Lab.Workload.Host(), "Port": c.Lab.Workload.Port(),
		"Image": c.Image.URI(), "Workers": c.Options.Workers, "MaxSurge": c.Options.MaxSurge,
		"Replacement": c.Options.Replacement, "KubernetesVersion": KubernetesVersion,
	})
	if err != nil {
		return "", fmt.Errorf("rendering %s: %w", name, err)
	}
	const suffix = len(".tmpl")
	file := filepath.Join(c.Lab.Dir(), c.Options.Name+"-"+name[:len(name)-suffix])
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("writing %s: %w", file, err)
	}
	return file, nil
}

// DeployWeb runs the Deployment with its PodDisruptionBudget on the workers.
func (c *Cluster) DeployWeb(ctx context.Context) error {
	if err := c.ApplyToWorkload(ctx, "web.yaml.tmpl"); err != nil {
		return err
	}
	return c.AwaitWeb(ctx)
}

// ApplyToWorkload applies a manifest to the workload cluster.
func (c *Cluster) ApplyToWorkload(ctx context.Context, name string) error {
	file, err := c.render(name)
	if err != nil {
		return err
	}
	c.Told("kubectl --kubeconfig workload apply --filename " + filepath.Base(file))
	_, err = c.Lab.WorkloadKubectl(ctx, "apply", "--filename", file)
	return err
}
