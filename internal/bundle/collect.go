// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
)

// Options of a bundle.
type Options struct {
	// Client reads the management cluster, and Pods the logs of its Pods.
	Client client.Reader
	Pods   kubernetes.Interface
	// Namespace and Cluster are those of the Cluster.
	Namespace, Cluster string
	// Upgrade is the name of the ElementalClusterUpgrade that is collected. Default: all of the Cluster's.
	Upgrade string
	// ManagerNamespace is where the manager runs. Default: it is looked for in all namespaces.
	ManagerNamespace string
	// LogFile is the log of a manager that does not run in a Pod. Default: the logs of its Pods are read.
	LogFile string
	// Since is how far back the logs of Pods are read.
	Since time.Duration
}

// part is a kind of objects, and which of them are of the Cluster.
type part struct {
	kind schema.GroupVersionKind
	is   func(*Options, *unstructured.Unstructured) bool
}

// parts in the order in which they are read. Templates and ElementalClusters are all of the namespace: templates are named by others, and a
// quarantine holds in all Clusters of the namespace.
func parts() []part {
	return []part{
		{clusterv1.GroupVersion.WithKind("Cluster"), func(o *Options, u *unstructured.Unstructured) bool { return u.GetName() == o.Cluster }},
		{clusterv1.GroupVersion.WithKind("MachineDeployment"), isLabelled},
		{clusterv1.GroupVersion.WithKind("MachineSet"), isLabelled},
		{clusterv1.GroupVersion.WithKind("Machine"), isLabelled},
		{controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"), isLabelled},
		{rke2.GroupVersion.WithKind("RKE2ControlPlane"), isLabelled},
		{infrav1.GroupVersion.WithKind("ElementalCluster"), isAny},
		{infrav1.GroupVersion.WithKind("ElementalClusterUpgrade"), isUpgrade},
		{infrav1.GroupVersion.WithKind("ElementalHost"), isLabelled},
		{infrav1.GroupVersion.WithKind("ElementalHostUpgrade"), namesCluster},
		{infrav1.GroupVersion.WithKind("ElementalMachine"), isLabelled},
		{infrav1.GroupVersion.WithKind("ElementalMachineTemplate"), isAny},
		{infrav1.GroupVersion.WithKind("ElementalRollout"), namesCluster},
	}
}

func isAny(*Options, *unstructured.Unstructured) bool { return true }

func isLabelled(o *Options, object *unstructured.Unstructured) bool {
	return object.GetLabels()[clusterv1.ClusterNameLabel] == o.Cluster
}

func namesCluster(o *Options, object *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(object.Object, "spec", "clusterName")
	return name == o.Cluster
}

func isUpgrade(o *Options, object *unstructured.Unstructured) bool {
	return namesCluster(o, object) && (o.Upgrade == "" || object.GetName() == o.Upgrade)
}

// collector fills an archive.
type collector struct {
	options Options
	archive *archive
	// objects that the bundle has, as KIND/NAME, and names of them but for the ElementalClusters of other Clusters.
	objects, names map[string]bool
}

// Write writes a compressed tar archive. What cannot be read is listed in it; it fails only if it cannot be written.
func Write(ctx context.Context, to io.Writer, options Options) error {
	c := &collector{options: options, archive: newArchive(), objects: map[string]bool{}, names: map[string]bool{options.Cluster: true}}
	for _, part := range parts() {
		c.addObjects(ctx, part)
	}
	c.addEvents(ctx)
	c.addLogs(ctx)
	return c.archive.write(to)
}

func (c *collector) addObjects(ctx context.Context, of part) {
	found, err := c.list(ctx, of.kind)
	if meta.IsNoMatchError(err) {
		return // no such provider is installed
	}
	if err != nil {
		c.archive.fail(of.kind.Kind, err)
		return
	}
	count := 0
	for i := range found {
		if of.is(&c.options, &found[i]) {
			c.addObject(&found[i])
			count++
		}
	}
	if of.kind.Kind == "Cluster" && count == 0 {
		c.archive.fail("Cluster", fmt.Errorf("namespace %s has none of the name %s", c.options.Namespace, c.options.Cluster))
	}
}

func (c *collector) addObject(object *unstructured.Unstructured) {
	kind, name := object.GetKind(), object.GetName()
	c.objects[kind+"/"+name] = true
	if kind != "ElementalCluster" || isLabelled(&c.options, object) {
		c.names[name] = true
	}
	clean(object)
	c.addYAML("objects/"+kind+"/"+name+".yaml", object.Object)
}

// addEvents adds the Events of the objects that the bundle has, in the order of their names, which the API server makes of the object's and of
// the time.
func (c *collector) addEvents(ctx context.Context) {
	found, err := c.list(ctx, schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"})
	if err != nil {
		c.archive.fail("Events", err)
		return
	}
	events := []any{}
	for i := range found {
		kind, _, _ := unstructured.NestedString(found[i].Object, "regarding", "kind")
		name, _, _ := unstructured.NestedString(found[i].Object, "regarding", "name")
		if c.objects[kind+"/"+name] {
			clean(&found[i])
			events = append(events, found[i].Object)
		}
	}
	c.addYAML("events.yaml", events)
}

// list reads all objects of a kind in the namespace, in the order of their names.
func (c *collector) list(ctx context.Context, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.options.Client.List(ctx, found, client.InNamespace(c.options.Namespace)); err != nil {
		return nil, fmt.Errorf("listing %s of namespace %s: %w", kind.Kind, c.options.Namespace, err)
	}
	slices.SortFunc(found.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found.Items, nil
}

func (c *collector) addYAML(name string, value any) {
	content, err := yaml.Marshal(value)
	if err != nil {
		c.archive.fail(name, err)
		return
	}
	c.archive.files[name] = content
}
