// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// migrate migrates a virtual machine that an eviction would stop.
func (p *pass) migrate(ctx context.Context, decision *Decision) error {
	if p.ownMigrations() >= p.maxOwnMigrations() {
		return nil
	}
	p.created++
	vmi := p.instance(decision)
	migration := &kubevirtv1.VirtualMachineInstanceMigration{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: decision.Namespace,
			// One whose creation was not heard of gets the same name again, and one after a failure another.
			Name:   "evacuation-" + digest(append([]string{p.Attempt, string(vmi.UID)}, p.migrations[keyOf(vmi)].ended...)...),
			Labels: map[string]string{infrav1.EvacuationLabel: "true", kubevirtv1.MigrationSelectorLabel: decision.Name},
			Annotations: map[string]string{
				infrav1.EvacuatedByAnnotation: p.Attempt,
				// KubeVirt waits longer after each failure, for migrations with this annotation alone.
				kubevirtv1.EvacuationMigrationAnnotation: p.Node.Name,
			},
		},
		Spec: kubevirtv1.VirtualMachineInstanceMigrationSpec{VMIName: decision.Name},
	}
	err := write(ctx, func(ctx context.Context) error { return p.Client.Create(ctx, migration) })
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case isRefused(err):
		*decision = decision.holds("cannot be migrated: " + err.Error())
		return nil
	}
	return client.IgnoreNotFound(err)
}

// ownMigrations counts those of ours, off this Node, that have not ended.
func (p *pass) ownMigrations() int {
	known := p.created
	for i := range p.snapshot.Migrations {
		if isOurs(&p.snapshot.Migrations[i]) && !p.snapshot.Migrations[i].IsFinal() {
			known++
		}
	}
	return known
}

// maxOwnMigrations is how many migrations of ours there are at a time: twice as many as KubeVirt runs from one Node,
// so that there is always a next one, and those of others are not queued behind hundreds.
func (p *pass) maxOwnMigrations() int {
	const byDefault = 2 // parallelOutboundMigrationsPerNode of KubeVirt
	limit := uint32(byDefault)
	if p.snapshot.KubeVirt != nil && p.snapshot.KubeVirt.Spec.Configuration.MigrationConfiguration != nil {
		limit = ptr.Deref(p.snapshot.KubeVirt.Spec.Configuration.MigrationConfiguration.ParallelOutboundMigrationsPerNode, byDefault)
	}
	return 2 * int(limit)
}

func isOurs(migration *kubevirtv1.VirtualMachineInstanceMigration) bool {
	return migration.Labels[infrav1.EvacuationLabel] != ""
}

// digest is short enough for a name, and differs where any of the parts does.
func digest(parts ...string) string {
	const length = 6
	hash := sha256.New()
	for _, part := range parts {
		hash.Write([]byte(part + "\x00"))
	}
	return hex.EncodeToString(hash.Sum(nil)[:length])
}
