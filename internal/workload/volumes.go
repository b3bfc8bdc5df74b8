// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AttachedVolumes names the PersistentVolumes that are still attached to the Node, except those of
// Pods that run there on: a drain leaves DaemonSet Pods, and their volumes, where they are.
func (c *Cluster) AttachedVolumes(ctx context.Context, node string) ([]string, error) {
	attachments, err := c.attachments(ctx, node)
	if err != nil || len(attachments) == 0 {
		return nil, err
	}
	inUse, err := c.ClaimsInUse(ctx, node)
	if err != nil {
		return nil, err
	}
	attached := []string{}
	for i := range attachments {
		name := ptr.Deref(attachments[i].Spec.Source.PersistentVolumeName, "")
		if name == "" || !attachments[i].Status.Attached {
			continue
		}
		volume := &corev1.PersistentVolume{}
		err := c.live.Get(ctx, client.ObjectKey{Name: name}, volume)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading PersistentVolume %s: %w", name, err)
		}
		if claim := volume.Spec.ClaimRef; claim == nil || !inUse.Has(claim.Namespace+"/"+claim.Name) {
			attached = append(attached, name)
		}
	}
	slices.Sort(attached)
	return attached, nil
}

// Unattached describes the PersistentVolumes that are to be attached to the Node and are not, and says of which that
// fails.
func (c *Cluster) Unattached(ctx context.Context, node string) ([]string, error) {
	attachments, err := c.attachments(ctx, node)
	if err != nil {
		return nil, err
	}
	unattached := []string{}
	for i := range attachments {
		if attachments[i].Status.Attached || !attachments[i].DeletionTimestamp.IsZero() {
			continue
		}
		name := ptr.Deref(attachments[i].Spec.Source.PersistentVolumeName, attachments[i].Name)
		if attachments[i].Status.AttachError != nil { // whose text may be another at every try
			name += " (attaching it fails)"
		}
		unattached = append(unattached, name)
	}
	slices.Sort(unattached)
	return unattached, nil
}

func (c *Cluster) attachments(ctx context.Context, node string) ([]storagev1.VolumeAttachment, error) {
	all := &storagev1.VolumeAttachmentList{}
	if err := c.live.List(ctx, all); err != nil {
		return nil, fmt.Errorf("listing VolumeAttachments: %w", err)
	}
	return slices.DeleteFunc(all.Items, func(a storagev1.VolumeAttachment) bool {
		return a.Spec.NodeName != node
	}), nil
}

// ClaimsInUse are the PersistentVolumeClaims, as namespace/name, of the Pods that run on the Node and are to stay there.
func (c *Cluster) ClaimsInUse(ctx context.Context, node string) (sets.Set[string], error) {
	pods, err := c.pods(ctx, node)
	if err != nil {
		return nil, err
	}
	claims := sets.New[string]()
	for i := range pods {
		// One that has ended uses nothing: KubeVirt keeps the Pod that a virtual machine was migrated from.
		if phase := pods[i].Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
			continue
		}
		for _, volume := range pods[i].Spec.Volumes {
			if volume.PersistentVolumeClaim != nil && pods[i].DeletionTimestamp.IsZero() {
				claims.Insert(pods[i].Namespace + "/" + volume.PersistentVolumeClaim.ClaimName)
			}
		}
	}
	return claims, nil
}

func (c *Cluster) pods(ctx context.Context, node string) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := c.live.List(ctx, pods, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return nil, fmt.Errorf("listing Pods on Node %s: %w", node, err)
	}
	return pods.Items, nil
}
