// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package capiworkaround has all that this provider does only because Cluster API 1.14 behaves as it does. Nothing of it
// would be needed if Cluster API behaved otherwise; each part can be removed by itself when it does.
//
// The list has for each part what Cluster API does and where (paths in sigs.k8s.io/cluster-api v1.14.2), how it was seen,
// and the spec that shows it on real Cluster API. A spec that is named under "fails when mended" asserts the behaviour of
// Cluster API itself, without this package. The version of Cluster API that the list was checked against is in Verified; a
// test fails as soon as go.mod has another one.
//
// # Judge
//
// Judge tells whether a user or a tool may change an owner's reference now.
//
//   - Behaviour: a MachineSet that becomes the current one while it has more Machines than its spec.replicas deletes them
//     instead of moving them (core/reconcilers/machineset/machineset_controller.go, syncReplicas and deleteMachines). The
//     rollout planner does not count a Machine that is on its way between two MachineSets, once neither is the current one
//     (core/reconcilers/machinedeployment/machinedeployment_rollout_planner.go). A paused rollout (spec.paused) takes the
//     order to move a Machine off its MachineSets (machinedeployment_sync.go, sync).
//   - Seen: a reference that went bad, good, bad deleted a Machine six times of six; a rollout that was overtaken between
//     two Machines, once in seventy; one that was paused while a Machine was moved, once in three.
//   - Fails when mended: test/integration/references, "deletes a Machine when a reference goes back (Judge)".
//   - Users: internal/webhooks/guard, and controllers/machinetemplate for a report. A patched template changes no reference (docs/adr/0024).
//
// # Judge and WaitForControlPlane, for control planes
//
//   - Behaviour: KubeadmControlPlane takes a Machine first that has an unhealthy component for certain, and else the oldest,
//     and deletes the one that it took instead of updating it where that is the only one that is not known to be healthy; a
//     Machine that was given a template's content counts as up to date when the reference is back
//     (controlplane/kubeadm/reconcilers/kubeadmcontrolplane/update.go, rollingUpdate).
//   - Seen: in the source, when control planes were first upgraded on the lab, on hosts with a real etcd.
//   - Fails when mended, for the first: test/integration/controlplane, "deletes the only Machine that is unhealthy instead of
//     updating it (Judge and WaitForControlPlane)". For the second none does.
//   - CAPRKE2 v0.25 deletes such a Machine, too, where it takes it: the oldest of the failure domain with the most (controlplane/internal/controllers/inplace.go,
//     tryInPlaceUpdate). Fails when mended, where CAPRKE2 can be had: test/integration/rke2, "deletes the only Machine that is
//     unhealthy instead of updating it (Judge and WaitForControlPlane)".
//
// # LookAgainAt
//
//   - Behaviour: KubeadmControlPlane watches neither etcd nor Pods of a workload cluster. Where it does not know whether a
//     component is healthy it looks again with its resync, in ten minutes (kubeadmcontrolplane_controller.go, Reconcile:
//     it asks for another look in 20 seconds only where a component is unhealthy for certain).
//   - Seen: on the lab, after an outage: the last event of a Node that came back was earlier than its etcd member.
//   - Fails when mended: test/integration/controlplane, "does not look again at what it does not know (LookAgainAt)".
//
// # RefusedUpdate
//
//   - Behaviour: KubeadmControlPlane applies the new content to an ElementalMachine by a dry run before it asks a hook; where
//     the API server refuses that, it deletes the Machine (inplace_canupdatemachine.go, createRequest).
//   - Seen: on the lab, with a policy that refuses the wanted image.
//   - Fails when mended: test/integration/controlplane, "deletes a Machine whose update the API server refuses
//     (RefusedUpdate)". CAPRKE2 does not: it tries again for ever, and the update is refused where that can be seen.
//
// # InitFields
//
//   - Behaviour: KubeadmControlPlane compares the KubeadmConfig of the Machine that "kubeadm init" has made with what it wants for init, and with
//     what it wants for join, and is content if one is the same (controlplane/kubeadm/pkg/filters.go, matchesKubeadmConfig). But it asks whether
//     that Machine can be updated in place with the comparison for join alone (inplace_canupdatemachine.go, createRequest), and replaces it where
//     init and join are configured differently: with skipPhases of init, for example, which join does not know.
//   - Seen: on real nodes, with "skipPhases: [addon/kube-proxy]" in initConfiguration: make test-e2e-nodes E2E_NODES_LABELS='control-plane || quick-start'.
//   - Fails when mended: none does.
//   - User: hooks, which covers such a difference. The data of the bootstrap are not used again.
//
// # UpdateMarks
//
//   - Behaviour: as an update in place completes, the Machine controller takes the annotation update-in-progress off twice, the
//     second time with the patch at the end of the reconcile. Neither patch has a resourceVersion, so that the second can
//     take off the mark of the next update (core/reconcilers/machine/machine_controller_inplace_update.go,
//     completeInPlaceUpdate and removeInPlaceUpdateAnnotation). A Machine without the mark counts as updated.
//   - Seen: rollouts that looked finished while a host kept the former OS, when a bad image was followed by a good one.
//   - Fails when mended: test/integration/references, "takes the marks of an update off twice, without a resourceVersion
//     (UpdateMarks, NameHost)".
//
// # NameHost
//
//   - Behaviour: hooks.MarkAsDone (internal/hooks/tracking.go) takes the pending hook off a Machine with a merge patch
//     without a resourceVersion. Where that was the only annotation the patch is "annotations: null", which takes the marks
//     of the next update as well.
//   - Seen: a Machine without another annotation counted as up to date with the former OS after a bad image was overtaken.
//   - Fails when mended: as of UpdateMarks.
//
// # RetryHook
//
//   - Behaviour: a call of UpdateMachine that fails is retried by the rate limiter of the work queue, which doubles the time
//     up to 1,000 seconds (machine_controller_inplace_update.go, callUpdateMachineHook).
//   - Seen: calls 1, 1, 2.3, 3.6, 6, 11, 22, 42, 83 and 165 seconds apart after an outage of the extension.
//   - Fails when mended: test/integration/references, "waits ever longer after a hook that fails (RetryHook)".
//
// # FailsFirstOS and FollowOwner
//
//   - Behaviour: a MachineSet that is scaled down does not move a Machine without a Node to the current one, and waits until it has one
//     (core/reconcilers/machineset/machineset_controller.go, startMoveMachines). A host whose first OS cannot be fetched, or does not boot, never
//     becomes a node, and the next image does not reach it.
//   - Seen: on the lab, when a replacement of a deleted Machine was given a bad image and the next one was good.
//   - Fails when mended: test/integration/rollout, "becomes a node with the next good image, although others are bad,
//     and keeps its Machine".
//
// # Topologies
//
//   - Behaviour: the topology controller watches the infrastructure cluster and the control plane of a Cluster, and none of the
//     templates of its ClusterClass (core/reconcilers/topology/cluster/cluster_controller.go, setupDynamicWatches).
//   - Seen: a patched template of a class reached the hosts after up to ten minutes.
//   - Fails when mended: test/integration/clusterclass, "which is not told of a template's content by Cluster
//     API itself (Topologies)".
package capiworkaround

// Verified is the version of Cluster API that all parts of this package were checked against.
const Verified = "v1.14.2"
