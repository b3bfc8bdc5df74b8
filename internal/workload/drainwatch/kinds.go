// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package drainwatch

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind is what is watched of a Node.
type Kind struct {
	list schema.GroupVersionKind
	// label has the name of the Node; empty: it is told otherwise.
	label string
}

var (
	// Pods of the Node that have not ended: those that come, go or end.
	Pods = Kind{list: corev1.SchemeGroupVersion.WithKind("PodList")}
	// Volumes that are attached to the Node, by their VolumeAttachments: every change.
	Volumes = Kind{list: storagev1.SchemeGroupVersion.WithKind("VolumeAttachmentList")}
)

// Labelled are the objects of a kind, whose list is named, that have the name of the Node in a label: those that come or go.
func Labelled(list schema.GroupVersionKind, label string) Kind { return Kind{list: list, label: label} }

// metadata is a list of the kind that is read without its contents.
func (k Kind) metadata() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(k.list)
	return list
}

// begin watches a Node from now on. What is there already is not told of, so that a watch of all VolumeAttachments, which
// cannot be selected by Node, costs no more than what happens to them meanwhile.
func (k Kind) begin(ctx context.Context, c client.WithWatch, node string) (watch.Interface, error) {
	now := k.metadata()
	if err := c.List(ctx, now, client.Limit(1)); err != nil {
		return nil, fmt.Errorf("listing %s: %w", now.Kind, err)
	}
	var list client.ObjectList = k.metadata()
	if k == Volumes { // their spec says which Node they are about
		list = &storagev1.VolumeAttachmentList{}
	}
	from := &client.ListOptions{Raw: &metav1.ListOptions{
		ResourceVersion: now.ResourceVersion, TimeoutSeconds: ptr.To(int64(renewedAfter.Seconds())),
	}}
	watching, err := c.Watch(ctx, list, append([]client.ListOption{from}, k.selecting(node)...)...)
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", now.Kind, err)
	}
	return watching, nil
}

func (k Kind) selecting(node string) []client.ListOption {
	switch k {
	case Pods: // one that ends is not selected any more, which is an event
		return []client.ListOption{client.MatchingFieldsSelector{Selector: fields.AndSelectors(
			fields.OneTermEqualSelector("spec.nodeName", node),
			fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
			fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
		)}}
	case Volumes:
		return nil
	}
	return []client.ListOption{client.MatchingLabels{k.label: node}}
}

// concerns reports whether an event is about what is on the Node.
func (k Kind) concerns(event watch.Event, node string) bool {
	if attachment, ok := event.Object.(*storagev1.VolumeAttachment); ok {
		return attachment.Spec.NodeName == node
	}
	return event.Type == watch.Added || event.Type == watch.Deleted
}
