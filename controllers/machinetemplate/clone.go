// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

const clusterKind = "Cluster"

// ensureClone makes sure that there is a clone which Machines of a Cluster are brought to, with the template's content and the options in force now. It
// returns its name, or what is wrong with it.
func (r *Reconciler) ensureClone(ctx context.Context, seen *observation, cluster *clusterv1.Cluster) (name, problem string, err error) {
	name = seen.cloneIn(cluster.Name)
	if existing := seen.clones[name]; existing != nil {
		problem, err = checkClone(existing, seen.hash)
		return name, problem, err
	}
	clone, err := r.newClone(ctx, seen, name, cluster)
	if err != nil {
		return name, "", err
	}
	err = r.Client.Create(ctx, clone)
	if apierrors.IsAlreadyExists(err) {
		existing := &infrav1.ElementalMachineTemplate{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(clone), existing); err != nil {
			return name, "", fmt.Errorf("reading clone %s: %w", clone.Name, err)
		}
		problem, err = checkClone(existing, seen.hash)
		return name, problem, err
	}
	if err != nil {
		return name, "", fmt.Errorf("creating clone %s: %w", clone.Name, err)
	}
	return name, "", nil
}

// cloneIn is the name of the clone that carries the template's content to the Machines of a Cluster.
func (o *observation) cloneIn(cluster string) string {
	content := rollout.Content{Template: o.template.Name, UID: o.template.UID, Generation: o.template.Generation}
	if pin := osversion.PinOf(o.template); pin != nil {
		content.LookedUp = pin.ResourceVersion
	}
	return rollout.CloneName(content, cluster)
}

// checkClone says that a clone was changed: Machines would get what no template asks for.
func checkClone(clone *infrav1.ElementalMachineTemplate, wanted string) (problem string, err error) {
	hash, err := rollout.ContentHash(clone)
	if err != nil || hash == wanted {
		return "", err
	}
	return fmt.Sprintf("ElementalMachineTemplate %s, the clone of this one, was changed: delete it, or change this template instead", clone.Name), nil
}

func (r *Reconciler) newClone(ctx context.Context, seen *observation, name string, cluster *clusterv1.Cluster) (*infrav1.ElementalMachineTemplate, error) {
	options, err := r.optionsOf(ctx, seen.template.Namespace, cluster.Name)
	if err != nil {
		return nil, err
	}
	clone := &infrav1.ElementalMachineTemplate{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: seen.template.Namespace,
			Name:      name,
			Labels: map[string]string{
				infrav1.SourceTemplateLabel: sourceLabel(seen.template),
				clusterv1.ClusterNameLabel:  cluster.Name,
			},
			Annotations: map[string]string{
				infrav1.RolledOutHashAnnotation:  seen.hash,
				infrav1.RolloutOptionsAnnotation: options,
				infrav1.SourceTemplateLabel:      seen.template.Name,
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(),
				Kind:       clusterKind,
				Name:       cluster.Name,
				UID:        cluster.UID,
			}},
		},
		Spec: *seen.template.Spec.DeepCopy(),
	}
	clone.Spec.Template.Spec.OSVersionManagement = osversion.OfTemplate(seen.template)
	clone.Spec.SkipPreflight = nil // that of the source applies, as it is at the time
	if by := heldBy(seen, cluster.Name, clone.Spec.Template.Spec.OSVersionManagement); by != "" {
		clone.Annotations[infrav1.HeldByAnnotation] = by
	}
	if filter, found := seen.template.Labels[clusterv1.WatchLabel]; found {
		clone.Labels[clusterv1.WatchLabel] = filter
	}
	return clone, nil
}

// heldBy is the ElementalClusterUpgrade that holds the nodes of a Cluster which another clone with the same OS is rolled out to: it holds them until
// they are asked for another OS.
func heldBy(seen *observation, cluster string, wanted infrav1.OSVersionManagement) string {
	for _, other := range seen.clones {
		by := other.Annotations[infrav1.HeldByAnnotation]
		if by != "" && other.Labels[clusterv1.ClusterNameLabel] == cluster && osversion.Same(osversion.OfTemplate(other), wanted) {
			return by
		}
	}
	return ""
}
