// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AttachedVolumes names the PersistentVolumes that are still attached to the Node, except those of
// Pods that run there on: a drain leaves DaemonSet Pods, and their volumes, where they are. Of one that may never be detached it says why, and what helps.
func (c *Cluster) AttachedVolumes(ctx context.Context, node *corev1.Node, leaving Leaving) ([]string, error) {
	attachments, err := c.attachments(ctx, node.Name)
	if err != nil || len(attachments) == 0 {
		return nil, err
	}
	pods, err := c.pods(ctx, node.Name)
	if err != nil {
		return nil, err
	}
	inUse, kept := claimsInUse(pods), keptClaims(pods, node, leaving)
	attached := []string{}
	for i := range attachments {
		name := ptr.Deref(attachments[i].Spec.Source.PersistentVolumeName, "")
		if name == "" || !attachments[i].Status.Attached {
			continue
		}
		claim, err := c.claimOf(ctx, name)
		if err != nil {
			return nil, err
		}
		if claim == "" || !inUse.Has(claim) {
			attached = append(attached, name+cmp.Or(kept[claim], keptAttached(&attachments[i], leaving)))
		}
	}
	slices.Sort(attached)
	return attached, nil
}

// claimOf is the PersistentVolumeClaim of a PersistentVolume, as namespace/name; empty if it has none, or is gone itself.
func (c *Cluster) claimOf(ctx context.Context, name string) (string, error) {
	volume := &corev1.PersistentVolume{}
	err := c.live.Get(ctx, client.ObjectKey{Name: name}, volume)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading PersistentVolume %s: %w", name, err)
	}
	if claim := volume.Spec.ClaimRef; claim != nil {
		return claim.Namespace + "/" + claim.Name, nil
	}
	return "", nil
}

// UnattachedVolume is a PersistentVolume that is to be attached to a Node and is not.
type UnattachedVolume struct {
	Name string
	// Fails says that attaching it fails.
	Fails bool
}

// String is the volume in a message.
func (v UnattachedVolume) String() string {
	if v.Fails { // whose error may be another at every try
		return v.Name + " (attaching it fails)"
	}
	return v.Name
}

// Unattached are the PersistentVolumes that are to be attached to the Node and are not, by name.
func (c *Cluster) Unattached(ctx context.Context, node string) ([]UnattachedVolume, error) {
	attachments, err := c.attachments(ctx, node)
	if err != nil {
		return nil, err
	}
	unattached := []UnattachedVolume{}
	for i := range attachments {
		if isUnattached(&attachments[i]) {
			unattached = append(unattached, UnattachedVolume{Name: volumeOf(&attachments[i]), Fails: attachments[i].Status.AttachError != nil})
		}
	}
	slices.SortFunc(unattached, func(a, b UnattachedVolume) int { return strings.Compare(a.Name, b.Name) })
	return unattached, nil
}

func isUnattached(attachment *storagev1.VolumeAttachment) bool {
	return !attachment.Status.Attached && attachment.DeletionTimestamp.IsZero()
}

// volumeOf is the PersistentVolume of an attachment. A volume without one is named by its attachment, whose name is the same for the same volume
// and Node.
func volumeOf(attachment *storagev1.VolumeAttachment) string {
	return ptr.Deref(attachment.Spec.Source.PersistentVolumeName, attachment.Name)
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
	return claimsInUse(pods), nil
}

func claimsInUse(pods []corev1.Pod) sets.Set[string] {
	claims := sets.New[string]()
	for i := range pods {
		// One that has ended uses nothing: KubeVirt keeps the Pod that a virtual machine was migrated from.
		if phase := pods[i].Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
			continue
		}
		if pods[i].DeletionTimestamp.IsZero() {
			claims.Insert(claimsOf(&pods[i])...)
		}
	}
	return claims
}

// keptClaims are the parts of a message, by claim, that say which Pod keeps a volume by not ending.
func keptClaims(pods []corev1.Pod, node *corev1.Node, leaving Leaving) map[string]string {
	kept := map[string]string{}
	for i := range pods {
		if why := Lingers(&pods[i], node, leaving); why != "" {
			for _, claim := range claimsOf(&pods[i]) {
				kept[claim] = " (" + why + ")"
			}
		}
	}
	return kept
}

// claimsOf are the PersistentVolumeClaims of a Pod, as namespace/name: those that it names, and those that are made for it, whose names Kubernetes
// derives from the Pod's and the volume's.
func claimsOf(pod *corev1.Pod) []string {
	claims := []string{}
	for i := range pod.Spec.Volumes {
		switch volume := &pod.Spec.Volumes[i]; {
		case volume.PersistentVolumeClaim != nil:
			claims = append(claims, pod.Namespace+"/"+volume.PersistentVolumeClaim.ClaimName)
		case volume.Ephemeral != nil:
			claims = append(claims, pod.Namespace+"/"+pod.Name+"-"+volume.Name)
		}
	}
	return claims
}

func (c *Cluster) pods(ctx context.Context, node string) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := c.live.List(ctx, pods, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return nil, fmt.Errorf("listing Pods on Node %s: %w", node, err)
	}
	return pods.Items, nil
}
