#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  sigs.k8s.io/cluster-api v1.14.2 (KubeadmControlPlane)
# Guess:     A Machine of a KubeadmControlPlane whose KubeadmConfig is up to date has no difference in it when the control plane
#            asks whether the Machine can be updated in place.
# Behaviour: For the Machine of "kubeadm init" two comparisons decide whether it is up to date: with what is wanted for join, and
#            else with what is wanted for init. The request to update it in place has the first one alone. Where init and join are
#            configured differently, as with skipPhases of init, the request has a difference that no change has made and that
#            cannot be carried out. An extension that does not cover it gets the Machine replaced.
# Seen:      what expect compares below. The init Machine was made from the same control plane, which has not changed.
# Source:    matchesKubeadmConfig in controlplane/kubeadm/pkg/filters.go, and createRequest in
#            controlplane/kubeadm/reconcilers/kubeadmcontrolplane/inplace_canupdatemachine.go of Cluster API. The functions that
#            are called below are those that both call.
# Here:      hooks/initmachine.go covers such a difference where the control plane that is read live wants both configurations.
#            internal/capiworkaround/doc.go lists it (InitFields).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules sigs.k8s.io/cluster-api@v1.14.2 sigs.k8s.io/cluster-api/api@v1.14.2
go_run <<'GO'
package main

import (
	"fmt"
	"reflect"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	kubeadm "sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg/desiredstate"
)

// wanted is the KubeadmConfig that the control plane wants for a Machine.
func wanted(of *controlplanev1.KubeadmControlPlane, join bool) *bootstrapv1.KubeadmConfig {
	config, err := desiredstate.ComputeDesiredKubeadmConfig(of, &clusterv1.Cluster{}, join, "machine", nil)
	if err != nil {
		panic(err)
	}
	return config
}

func main() {
	controlPlane := &controlplanev1.KubeadmControlPlane{}
	controlPlane.Spec.Version = "v1.36.3"
	controlPlane.Spec.KubeadmConfigSpec.InitConfiguration.SkipPhases = []string{"addon/kube-proxy"}
	current := wanted(controlPlane, false)

	desired, now := kubeadm.PrepareKubeadmConfigsForDiff(wanted(controlPlane, false), current, false)
	fmt.Println("up to date by the comparison for init:", reflect.DeepEqual(desired.Spec, now.Spec))
	desired, now = kubeadm.PrepareKubeadmConfigsForDiff(wanted(controlPlane, true), current, true)
	fmt.Println("same by the comparison of the request: ", reflect.DeepEqual(desired.Spec, now.Spec))
	fmt.Println("skipPhases now and wanted in the request:", now.Spec.JoinConfiguration.SkipPhases, desired.Spec.JoinConfiguration.SkipPhases)
}
GO
expect <<'SEEN'
up to date by the comparison for init: true
same by the comparison of the request:  false
skipPhases now and wanted in the request: [addon/kube-proxy] []
SEEN
