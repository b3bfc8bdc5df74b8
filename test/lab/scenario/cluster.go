// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
)

//go:embed manifests
var manifests embed.FS

// Names of the objects that the manifests create, unless Pools sets others.
const (
	Registration = "racks"
	Template     = "workers"
	Deployment   = "workers"
	// ControlPlaneRegistration registers the hosts of the control plane, ControlPlaneTemplate is their
	// ElementalMachineTemplate, and ControlPlane the KubeadmControlPlane.
	ControlPlaneRegistration = "control-planes"
	ControlPlaneTemplate     = "control-plane"
	ControlPlane             = "control-plane"
	// KubernetesVersion of the workers.
	KubernetesVersion = "v1.36.3"
	// Repository of the OS images.
	Repository = "elemental-os"
)

// Options of a cluster.
type Options struct {
	// Name of the Cluster, and of its Namespace by default. Default demo.
	Name string
	// Namespace, if several clusters share one. Their pools then need different names.
	Namespace string
	// Workload cluster; nil is the lab's first. Clusters that share one each see the nodes of all of
	// them as their own.
	Workload *lab.Workload
	// Workers of its MachineDeployment. Default 3, or 0 with a control plane on hosts.
	Workers int
	// Pools are its MachineDeployments. Default one with that many workers.
	Pools []Pool
	// ControlPlane is the number of replicas of its KubeadmControlPlane, on hosts of their own. 0: there is none, and
	// the lab's API server stands in for an externally managed control plane. Only one cluster of a Namespace can have
	// it.
	ControlPlane int
	// RKE2 makes it an RKE2ControlPlane, in a lab with Options.RKE2.
	RKE2 bool
	// Rancher has Rancher provision the cluster, in a lab with Options.Rancher. Its control plane is a pool of Machines, too. Rancher's
	// clusters are in rancher.Namespace.
	Rancher bool
	// DrainOptions by which Rancher drains its nodes.
	DrainOptions rancher.DrainOptions
	// ControlPlaneMaxSurge of the control plane. Default 0.
	ControlPlaneMaxSurge int
	// Spare is the number of hosts that register and are not needed.
	Spare int
	// MaxSurge of the MachineDeployment. Default 0.
	MaxSurge int
	// Class creates the cluster from a ClusterClass of its Namespace, ClassName. MaxSurge is then that of the topology.
	Class bool
	// Manifest returns a file with the Cluster to apply instead of the scenario's own. The names in it are its own.
	Manifest func(ctx context.Context, c *Cluster) (file string, err error)
	// Unconnected leaves the Secrets by which Cluster API reaches the cluster, and its CA, to the control plane of the Manifest.
	Unconnected bool
	// Replacement policy; if empty, the default applies.
	Replacement string
	// MaxConcurrent is the limit on concurrent upgrades; if zero, the default applies.
	MaxConcurrent int
	// MaxUnavailable of the MachineDeployments. Default 1.
	MaxUnavailable int
	// AssessmentTimeout is how long a boot of the hosts may take to become good. Default: the agent's.
	AssessmentTimeout time.Duration
	// Hosts powers on the hosts of the workers, given the configuration of their agents. Default: hosts of the lab,
	// each with the real agent in a process.
	Hosts func(ctx context.Context, c *Cluster, agentConfig []byte) error
	// PreflightErrors of kubeadm that the workers ignore. The lab's own hosts have none.
	PreflightErrors []string
	// Patience is how long the cluster may take to come up, if it is very large. Default process.Patience.
	Patience time.Duration
}

// Pool is a MachineDeployment with its own template, both of that name.
type Pool struct {
	Name    string
	Workers int
}

// Cluster is a cluster of Elemental workers.
type Cluster struct {
	Lab     *lab.Lab
	Options Options
	// Image that the hosts are installed with.
	Image image.Image
	// Told is called with each command before it is run. Default: none.
	Told func(command string)
	// rotations counts the templates that Rotate has made, for their names.
	rotations int
	// rotated are the last of them by pool, which the MachineDeployments refer to.
	rotated map[string]string
}

// New completes the options. It creates nothing.
func New(l *lab.Lab, options Options) *Cluster {
	if options.Name == "" {
		options.Name = "demo"
	}
	if options.Workers == 0 && options.ControlPlane == 0 {
		options.Workers = 3
	}
	if len(options.Pools) == 0 && options.Workers > 0 {
		options.Pools = []Pool{{Name: Deployment, Workers: options.Workers}}
	}
	if options.MaxUnavailable == 0 {
		options.MaxUnavailable = 1
	}
	if options.Hosts == nil {
		options.Hosts = addHosts
	}
	options.Patience = cmp.Or(options.Patience, process.Patience)
	options.Workers = 0
	for _, pool := range options.Pools {
		options.Workers += pool.Workers
	}
	return &Cluster{Lab: l, Options: options, Told: func(string) {}}
}

// Namespace of everything.
func (c *Cluster) Namespace() string { return cmp.Or(c.Options.Namespace, c.Options.Name) }

// registration is the name of the ElementalRegistration, and rack the label of the hosts that register with it.
func (c *Cluster) registration() (name, rack string) {
	if c.Namespace() == c.Options.Name {
		return Registration, "r1"
	}
	return c.Options.Name + "-" + Registration, c.Options.Name
}

// Workload is the workload cluster, and WorkloadKube a client to it.
func (c *Cluster) Workload() *kube.Cluster {
	if c.Options.Workload != nil {
		return c.Options.Workload.Cluster
	}
	return c.Lab.Workload
}

// WorkloadKube is a client to the workload cluster.
func (c *Cluster) WorkloadKube() client.WithWatch {
	if c.Options.Workload != nil {
		return c.Options.Workload.Kube
	}
	return c.Lab.WorkloadKube
}

// kubernetesVersion of its nodes.
func (c *Cluster) kubernetesVersion() string {
	if c.Options.RKE2 || c.Options.Rancher {
		return KubernetesVersion + "+rke2r1"
	}
	return KubernetesVersion
}

// HostName of the n-th host, from 1.
func (c *Cluster) HostName(n int) string { return fmt.Sprintf("%s-node-%d", c.Options.Name, n) }

// ControlPlaneHostName of the n-th host of the control plane, from 1.
func (c *Cluster) ControlPlaneHostName(n int) string {
	return fmt.Sprintf("%s-cp-%d", c.Options.Name, n)
}

// PushImage builds an OS image and pushes it with a tag.
func (c *Cluster) PushImage(ctx context.Context, tag string, os image.OS) (image.Image, error) {
	if os.Version == "" {
		os.Version = "Elemental OS " + tag
	}
	if os.KubeletVersion == "" {
		os.KubeletVersion = c.kubernetesVersion()
	}
	return c.Lab.Registry.Push(ctx, Repository+"/"+c.Options.Name, tag, os)
}

// Create lets the hosts register, applies the manifests with kubectl and waits until all workers are up.
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

// register creates the registration and powers the hosts on.
func (c *Cluster) register(ctx context.Context) error {
	if err := c.Lab.CreateNamespace(ctx, c.Namespace()); err != nil {
		return err
	}
	if err := c.ApplyManifest(ctx, "registration.yaml.tmpl"); err != nil {
		return err
	}
	registration, _ := c.registration()
	config, err := c.Lab.AgentConfig(ctx, c.Namespace(), registration)
	if err != nil {
		return err
	}
	if err := c.Options.Hosts(ctx, c, config); err != nil {
		return err
	}
	if err := c.registerControlPlane(ctx); err != nil {
		return err
	}
	return c.AwaitHosts(ctx)
}

func addHosts(ctx context.Context, c *Cluster, agentConfig []byte) error {
	for n := range c.Options.Workers + c.Options.Spare {
		if _, err := c.Lab.AddHostOf(ctx, c.Workload(), c.HostName(n+1), c.Image, agentConfig); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) apply(ctx context.Context) error {
	if !c.Options.Unconnected {
		if err := c.Lab.ConnectTo(ctx, c.Workload(), c.Namespace(), c.Options.Name); err != nil {
			return err
		}
	}
	if c.Options.Manifest != nil {
		return c.applyGiven(ctx)
	}
	if c.Options.Class {
		return c.applyClass(ctx)
	}
	if c.Options.Rancher {
		return c.applyRancher(ctx)
	}
	if err := c.ApplyManifest(ctx, "cluster.yaml.tmpl"); err != nil {
		return err
	}
	switch {
	case c.Options.RKE2:
		return c.ApplyManifest(ctx, "control-plane-rke2.yaml.tmpl")
	case c.Options.ControlPlane > 0:
		return c.ApplyManifest(ctx, "control-plane.yaml.tmpl")
	}
	return c.Lab.InitializeControlPlane(ctx, c.Namespace(), c.Options.Name)
}

func (c *Cluster) applyGiven(ctx context.Context) error {
	file, err := c.Options.Manifest(ctx, c)
	if err != nil {
		return fmt.Errorf("making the manifest: %w", err)
	}
	_, err = c.Kubectl(ctx, "apply", "--namespace", c.Namespace(), "--filename", file)
	return err
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

// render writes a manifest to a file that a person can read.
func (c *Cluster) render(name string) (string, error) {
	parsed, err := template.ParseFS(manifests, "manifests/"+name)
	if err != nil {
		return "", fmt.Errorf("parsing %s: %w", name, err)
	}
	registration, rack := c.registration()
	drainOptions, err := c.Options.DrainOptions.Token()
	if err != nil {
		return "", err
	}
	text := &bytes.Buffer{}
	err = parsed.Execute(text, map[string]any{
		"Name": c.Options.Name, "Namespace": c.Namespace(), "Host": c.Workload().Host(), "Port": c.Workload().Port(),
		"Image": c.Image.URI(), "Pools": c.Options.Pools, "MaxSurge": c.Options.MaxSurge, "MaxUnavailable": c.Options.MaxUnavailable,
		"Registration": registration, "Rack": rack,
		"Replacement": c.Options.Replacement, "MaxConcurrent": c.Options.MaxConcurrent, "KubernetesVersion": c.kubernetesVersion(),
		"RKE2": c.Options.RKE2, "ControlPlane": c.Options.ControlPlane, "ControlPlaneMaxSurge": c.Options.ControlPlaneMaxSurge,
		"DrainOptions": drainOptions, "AssessmentTimeout": c.Options.AssessmentTimeout,
		"PreflightErrors": c.Options.PreflightErrors,
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
