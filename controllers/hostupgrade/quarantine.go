// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
)

// maxQuarantineReason is the bound of QuarantinedImage.reason in the CRD, in characters.
const maxQuarantineReason = 512

// quarantining are the other ElementalClusters of the namespace, of which there are few, that have the attempt's image in their
// quarantine. They are read live before something is done that cannot be taken back.
func (r *Reconciler) quarantining(ctx context.Context, o *observation, isLive bool) ([]infrav1.ElementalCluster, error) {
	if o.digest() == "" {
		return nil, nil
	}
	if !isLive {
		found, err := clusterview.Quarantining(ctx, r.Client, o.upgrade.Namespace, o.digest())
		return o.others(found), err
	}
	found := &infrav1.ElementalClusterList{}
	if err := r.APIReader.List(ctx, found, client.InNamespace(o.upgrade.Namespace)); err != nil {
		return nil, fmt.Errorf("listing ElementalClusters for their quarantines: %w", err)
	}
	return o.others(found.Items), nil
}

// others are the ElementalClusters among these that have the attempt's image in quarantine, without its own.
func (o *observation) others(clusters []infrav1.ElementalCluster) []infrav1.ElementalCluster {
	others := []infrav1.ElementalCluster{}
	for i := range clusters {
		isOwn := o.elementalCluster != nil && clusters[i].Name == o.elementalCluster.Name
		if !isOwn && preflight.QuarantinedImage(&clusters[i], o.digest()) != nil {
			others = append(others, clusters[i])
		}
	}
	return others
}

// quarantineImage records what the attempt's host did with the image of this digest, such as "rolled back from", and why.
func (r *Reconciler) quarantineImage(ctx context.Context, o *observation, digest, did, why string) error {
	if o.elementalCluster == nil || digest == "" || preflight.QuarantinedImage(o.elementalCluster, digest) != nil {
		return nil
	}
	images, removed, room := makeRoom(o.elementalCluster.Spec.Quarantine)
	if !room {
		r.Recorder.Eventf(o.elementalCluster, nil, "Warning", infrav1.EventDigestQuarantined, "Quarantine",
			"ElementalHost %s %s %s, which cannot be recorded: spec.quarantine has %d images that users have added, remove some",
			o.upgrade.Spec.HostName, did, digest, len(images))
		return nil
	}
	images = append(images, infrav1.QuarantinedImage{
		Digest: digest, Host: o.upgrade.Spec.HostName, Since: metav1.NewTime(o.now), Reason: cut(why, maxQuarantineReason),
	})
	if err := r.writeQuarantine(ctx, o, images); err != nil {
		return err
	}
	if removed != nil {
		r.Recorder.Eventf(o.elementalCluster, nil, "Normal", infrav1.EventQuarantineLifted, "Quarantine",
			"%s makes room in spec.quarantine, which is full: it is offered to hosts again", removed.Digest)
	}
	r.Recorder.Eventf(o.elementalCluster, nil, "Warning", infrav1.EventDigestQuarantined, "Quarantine",
		"ElementalHost %s %s %s (%s): it is offered to no further host of the namespace", o.upgrade.Spec.HostName, did, digest, o.upgrade.Spec.ImageURI)
	return nil
}

// makeRoom copies a quarantine and, if it is full, removes the oldest image that a host rolled back from. What users have added
// themselves, without a host or a time, stays. It reports whether there is room for another image.
func makeRoom(former []infrav1.QuarantinedImage) (images []infrav1.QuarantinedImage, removed *infrav1.QuarantinedImage, room bool) {
	images = slices.Clone(former)
	if len(images) < infrav1.MaxQuarantine {
		return images, nil, true
	}
	oldest := -1
	for i := range images {
		if images[i].Host == "" || images[i].Since.IsZero() {
			continue
		}
		if oldest < 0 || images[i].Since.Before(&images[oldest].Since) {
			oldest = i
		}
	}
	if oldest < 0 {
		return images, nil, false
	}
	removed = images[oldest].DeepCopy()
	return slices.Delete(images, oldest, oldest+1), removed, true
}

// releaseImage removes the image with this digest from the quarantine, because the attempt's host runs it.
func (r *Reconciler) releaseImage(ctx context.Context, o *observation, digest string) error {
	if preflight.QuarantinedImage(o.elementalCluster, digest) == nil {
		return nil
	}
	images := slices.DeleteFunc(slices.Clone(o.elementalCluster.Spec.Quarantine), func(image infrav1.QuarantinedImage) bool {
		return image.Digest == digest
	})
	if err := r.writeQuarantine(ctx, o, images); err != nil {
		return err
	}
	r.Recorder.Eventf(o.elementalCluster, nil, "Normal", infrav1.EventQuarantineLifted, "Quarantine",
		"ElementalHost %s runs %s (%s): it is offered to other hosts of the cluster again", o.upgrade.Spec.HostName, digest, o.upgrade.Spec.ImageURI)
	return nil
}

// writeQuarantine fails if the ElementalCluster has changed since it was read: another attempt, or a user, may have changed the list.
func (r *Reconciler) writeQuarantine(ctx context.Context, o *observation, images []infrav1.QuarantinedImage) error {
	before := o.elementalCluster.DeepCopy()
	o.elementalCluster.Spec.Quarantine = images
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, o.elementalCluster, patch); err != nil {
		return fmt.Errorf("writing spec.quarantine of ElementalCluster %s: %w", o.elementalCluster.Name, err)
	}
	return nil
}
