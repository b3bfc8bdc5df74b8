#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  sigs.k8s.io/controller-runtime v0.24.1, github.com/evanphx/json-patch/v5 v5.9.11
# Guess:     A merge patch of client.MergeFrom names what was changed. Taking one annotation off leaves those alone that others
#            have added meanwhile, so that no resourceVersion is needed.
# Behaviour: That holds only while another annotation stays. Where the last one is removed the map is empty, and as it is
#            omitted when it is empty, the patch is "annotations: null": it removes all annotations that there are by then. The
#            same is true of labels. Cluster API takes its marks of hooks off in this way.
# Seen:      what expect compares below. Another client has added the annotation "theirs" after the object was read.
# Source:    pkg/client/patch.go of controller-runtime, which compares both objects as JSON; the tag omitempty of ObjectMeta;
#            MarkAsDone in internal/hooks/tracking.go of sigs.k8s.io/cluster-api v1.14.2
# Here:      internal/capiworkaround/hostname.go keeps an annotation of this provider on each Machine (NameHost). Its own patches
#            that remove something have a resourceVersion (client.MergeFromWithOptimisticLock).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules sigs.k8s.io/controller-runtime@v0.24.1 k8s.io/api@v0.36.3 k8s.io/apimachinery@v0.36.3 github.com/evanphx/json-patch/v5@v5.9.11
go_run <<'GO'
package main

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// remove takes the annotation "mine" off an object that had the given annotations when it was read.
func remove(read map[string]string) {
	before := &corev1.Node{}
	before.SetAnnotations(read)
	after := before.DeepCopy()
	delete(after.Annotations, "mine")
	patch, err := client.MergeFrom(before).Data(after)
	check(err)

	stored := before.DeepCopy()
	stored.Annotations["theirs"] = "yes"
	document, err := json.Marshal(stored)
	check(err)
	merged, err := jsonpatch.MergePatch(document, patch)
	check(err)
	result := &corev1.Node{}
	check(json.Unmarshal(merged, result))
	fmt.Printf("%s leaves %v\n", patch, result.Annotations)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	remove(map[string]string{"mine": "yes", "other": "yes"})
	remove(map[string]string{"mine": "yes"})
}
GO
expect <<'SEEN'
{"metadata":{"annotations":{"mine":null}}} leaves map[other:yes theirs:yes]
{"metadata":{"annotations":null}} leaves map[]
SEEN
