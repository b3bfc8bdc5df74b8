// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReplenishmentSetting is the name of the Setting for how long Longhorn waits before it creates a new replica
// elsewhere, and DefaultReplenishment its default, in seconds.
const (
	ReplenishmentSetting = "replica-replenishment-wait-interval"
	DefaultReplenishment = "600"
)

// Longhorn writes the objects of Longhorn.
type Longhorn struct {
	kube  client.Client
	clock clock.PassiveClock
	asked requests
}

// NewLonghorn installs Longhorn's kinds, with its Setting at the default.
func NewLonghorn(ctx context.Context, kube client.Client, now clock.PassiveClock) (*Longhorn, error) {
	if err := Install(ctx, kube, LonghornKinds()...); err != nil {
		return nil, err
	}
	l := &Longhorn{kube: kube, clock: now}
	setting := New(Setting, Namespace, ReplenishmentSetting, map[string]any{"value": DefaultReplenishment})
	if err := kube.Create(ctx, setting); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("creating Setting %s: %w", ReplenishmentSetting, err)
	}
	return l, nil
}

// VolumeSpec is a volume to be created: healthy, with all its replicas.
type VolumeSpec struct {
	Name string
	// Claim is its PersistentVolumeClaim as namespace/name; none if empty.
	Claim string
	// Nodes that hold a replica each.
	Nodes []string
	// AttachedTo is the Node on which it is in use; empty if it is detached.
	AttachedTo string
	// Workload that uses it, as "Kind name"; none if empty.
	Workload string
}

// ReplicaName is the name of a volume's replica on a Node.
func ReplicaName(volume, node string) string { return volume + "-r-" + node }

// Labels of replicas and engines, as Longhorn gives them.
const (
	volumeOf = "longhornvolume"
	nodeOf   = "longhornnode"
)

// AddVolume makes a volume.
func (l *Longhorn) AddVolume(ctx context.Context, spec VolumeSpec) error {
	modes := map[string]any{}
	for _, node := range spec.Nodes {
		replica := New(Replica, Namespace, ReplicaName(spec.Name, node), map[string]any{"spec": map[string]any{
			"volumeName": spec.Name, "nodeID": node, "healthyAt": l.now(), "failedAt": "",
		}})
		replica.SetLabels(map[string]string{volumeOf: spec.Name, nodeOf: node})
		if err := l.kube.Create(ctx, replica); err != nil {
			return fmt.Errorf("creating Replica %s: %w", replica.GetName(), err)
		}
		modes[replica.GetName()] = "RW"
	}
	engine := New(Engine, Namespace, spec.Name+"-e-0", map[string]any{
		"spec": map[string]any{"volumeName": spec.Name, "nodeID": spec.AttachedTo}, "status": map[string]any{},
	})
	engine.SetLabels(map[string]string{volumeOf: spec.Name, nodeOf: spec.AttachedTo})
	volume := New(Volume, Namespace, spec.Name, map[string]any{
		"spec":   map[string]any{"numberOfReplicas": int64(len(spec.Nodes))},
		"status": map[string]any{"state": "detached", "robustness": "unknown", "lastDegradedAt": "", "kubernetesStatus": spec.user()},
	})
	if spec.AttachedTo != "" {
		engine.Object["status"] = map[string]any{"currentState": "running", "replicaModeMap": modes}
		set(volume, "attached", "status", "state")
		set(volume, "healthy", "status", "robustness")
		set(volume, spec.AttachedTo, "status", "currentNodeID")
	}
	for _, object := range []client.Object{engine, volume} {
		if err := l.kube.Create(ctx, object); err != nil {
			return fmt.Errorf("creating what is of volume %s: %w", spec.Name, err)
		}
	}
	return nil
}

func (s VolumeSpec) user() map[string]any {
	namespace, claim, _ := strings.Cut(s.Claim, "/")
	user := map[string]any{"namespace": namespace, "pvcName": claim, "lastPodRefAt": ""}
	if kind, name, found := strings.Cut(s.Workload, " "); found {
		user["workloadsStatus"] = []any{map[string]any{"podName": name + "-pod", "workloadName": name, "workloadType": kind}}
	}
	return user
}

// Detach detaches a volume from its Node.
func (l *Longhorn) Detach(ctx context.Context, volume string) error {
	if err := l.Change(ctx, Engine, volume+"-e-0", func(engine *unstructured.Unstructured) {
		engine.Object["status"] = map[string]any{"currentState": "stopped"}
	}); err != nil {
		return err
	}
	return l.Change(ctx, Volume, volume, func(stored *unstructured.Unstructured) {
		set(stored, "detached", "status", "state")
		set(stored, "unknown", "status", "robustness")
		set(stored, "", "status", "currentNodeID")
	})
}

// FailReplica makes a volume's replica on a Node fail, and the volume degraded; faulted if it was the last one.
func (l *Longhorn) FailReplica(ctx context.Context, volume, node string) error {
	return l.setReplica(ctx, volume, node, "ERR", l.now())
}

// StartRebuild begins to rebuild a failed replica.
func (l *Longhorn) StartRebuild(ctx context.Context, volume, node string) error {
	return l.setReplica(ctx, volume, node, "WO", "")
}

// FinishRebuild completes the rebuild: the replica is healthy, and the volume too if it was the last one.
func (l *Longhorn) FinishRebuild(ctx context.Context, volume, node string) error {
	return l.setReplica(ctx, volume, node, "RW", "")
}

func (l *Longhorn) setReplica(ctx context.Context, volume, node, mode, failedAt string) error {
	name := ReplicaName(volume, node)
	if err := l.Change(ctx, Replica, name, func(replica *unstructured.Unstructured) {
		set(replica, failedAt, "spec", "failedAt")
		if mode == "RW" {
			set(replica, l.now(), "spec", "healthyAt")
		}
	}); err != nil {
		return err
	}
	var modes map[string]string
	if err := l.Change(ctx, Engine, volume+"-e-0", func(engine *unstructured.Unstructured) {
		set(engine, mode, "status", "replicaModeMap", name)
		modes, _, _ = unstructured.NestedStringMap(engine.Object, "status", "replicaModeMap")
	}); err != nil {
		return err
	}
	return l.Change(ctx, Volume, volume, func(stored *unstructured.Unstructured) { l.judge(stored, modes) })
}

// judge sets the robustness of a volume from the modes of its replicas.
func (l *Longhorn) judge(volume *unstructured.Unstructured, modes map[string]string) {
	healthy := 0
	for _, mode := range modes {
		if mode == "RW" {
			healthy++
		}
	}
	wanted, _, _ := unstructured.NestedInt64(volume.Object, "spec", "numberOfReplicas")
	former, _, _ := unstructured.NestedString(volume.Object, "status", "robustness")
	robustness, degradedAt := "degraded", l.now()
	switch {
	case healthy >= int(wanted):
		robustness, degradedAt = "healthy", ""
	case healthy == 0:
		robustness = "faulted"
	}
	set(volume, robustness, "status", "robustness")
	if robustness != former {
		set(volume, degradedAt, "status", "lastDegradedAt")
	}
}

// Replenishment is the value of the Setting, and its annotations.
func (l *Longhorn) Replenishment(ctx context.Context) (value string, annotations map[string]string, err error) {
	setting := New(Setting, Namespace, ReplenishmentSetting, nil)
	if err := l.kube.Get(ctx, client.ObjectKeyFromObject(setting), setting); err != nil {
		return "", nil, fmt.Errorf("reading Setting %s: %w", ReplenishmentSetting, err)
	}
	value, _, _ = unstructured.NestedString(setting.Object, "value")
	return value, setting.GetAnnotations(), nil
}

// SetReplenishment changes the Setting, as a person does in Longhorn's UI.
func (l *Longhorn) SetReplenishment(ctx context.Context, value string) error {
	return l.Change(ctx, Setting, ReplenishmentSetting, func(setting *unstructured.Unstructured) { set(setting, value, "value") })
}

// Change changes an object of Longhorn.
func (l *Longhorn) Change(ctx context.Context, kind schema.GroupVersionKind, name string, change func(*unstructured.Unstructured)) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object := New(kind, Namespace, name, nil)
		if err := l.kube.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return l.kube.Update(ctx, object)
	})
	if err != nil {
		return fmt.Errorf("changing %s %s: %w", kind.Kind, name, err)
	}
	return nil
}

func (l *Longhorn) now() string { return l.clock.Now().UTC().Format(time.RFC3339) }

// set sets a field of an object. It fails only if a parent field is not a map, which does not happen in the double's
// own objects.
func set(object *unstructured.Unstructured, value any, fields ...string) {
	_ = unstructured.SetNestedField(object.Object, value, fields...)
}
