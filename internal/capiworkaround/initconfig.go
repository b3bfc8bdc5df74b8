// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

// InitFields are those of a KubeadmConfig's joinConfiguration that KubeadmControlPlane fills in from the initConfiguration of the Machine that
// "kubeadm init" has made, before it asks whether that Machine can be updated in place.
var InitFields = []string{"timeouts", "patches", "skipPhases", "nodeRegistration"}
