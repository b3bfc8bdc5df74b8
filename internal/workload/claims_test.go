// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

var _ = DescribeTable("The volume of a Pod that stays is not waited for, whichever way the Pod names its claim",
	func(ctx SpecContext, source corev1.VolumeSource, claim string) {
		w := newWorld(ctx)
		w.addPod(ctx, "log-1", ownedBy("DaemonSet", "log"), func(pod *corev1.Pod) {
			pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}}
		})
		w.attach(ctx, "pv-1", claim, storagev1.VolumeAttachmentStatus{Attached: true})
		w.attach(ctx, "pv-2", "other", storagev1.VolumeAttachmentStatus{Attached: true})
		Expect(w.cluster.ClaimsInUse(ctx, w.node)).To(HaveKey(w.namespace + "/" + claim))
		Expect(w.attached(ctx)).To(HaveExactElements(w.namespace + "-pv-2"))
	},
	Entry("by its name", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "logs"}}, "logs"),
	Entry("as a generic ephemeral volume", corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: oneGi}},
		}},
	}}, "log-1-data"),
)
