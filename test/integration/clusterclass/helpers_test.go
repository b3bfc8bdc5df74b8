// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterclass_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// expectKept asserts what must hold whatever was changed.
func expectKept(ctx context.Context, cluster *scenario.Cluster, before []scenario.Identity) {
	GinkgoHelper()
	Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
	Expect(audit.Deleted(suite.Audit(cluster.Lab.Management), "machines")).To(BeEmpty(), "no Machine was deleted")
}

// attemptsFor an image.
func attemptsFor(ctx context.Context, cluster *scenario.Cluster, os image.Image) ([]infrav1.ElementalHostUpgrade, error) {
	attempts, err := cluster.Attempts(ctx)
	return slices.DeleteFunc(attempts, func(u infrav1.ElementalHostUpgrade) bool { return u.Spec.ImageURI != os.URI() }), err
}

// expectAtRest asserts that the topology is reconciled, that Cluster API has deleted the template of the former
// rollout, and that no controllers fight over the template of this one.
func expectAtRest(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	Eventually(cluster.TopologyError).WithContext(ctx).Should(BeEmpty())
	Eventually(topologyTemplates).WithContext(ctx).WithArguments(cluster).Should(HaveLen(1))
	now, err := topologyTemplates(ctx, cluster)
	Expect(err).NotTo(HaveOccurred())
	Consistently(topologyTemplates, calm).WithContext(ctx).WithArguments(cluster).Should(Equal(now), "templates are left alone")
}

// topologyTemplates are those that the topology controller created, with their resource versions.
func topologyTemplates(ctx context.Context, cluster *scenario.Cluster) (map[string]string, error) {
	list := &infrav1.ElementalMachineTemplateList{}
	err := cluster.Lab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()), client.HasLabels{clusterv1.ClusterTopologyOwnedLabel})
	found := map[string]string{}
	for i := range list.Items {
		found[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	return found, err
}

// blocked is the condition RolloutBlocked of a template while it is True.
func blocked(ctx context.Context, cluster *scenario.Cluster, name string) (metav1.Condition, error) {
	template := &infrav1.ElementalMachineTemplate{}
	err := cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: name}, template)
	if err != nil || !conditions.IsTrue(template, infrav1.RolloutBlockedCondition) {
		return metav1.Condition{}, err
	}
	return *conditions.Get(template, infrav1.RolloutBlockedCondition), nil
}

// refusals are the events that report a refused change.
func refusals(ctx context.Context, cluster *scenario.Cluster) ([]eventsv1.Event, error) {
	list := &eventsv1.EventList{}
	err := cluster.Lab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()))
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason != infrav1.EventInPlaceRefused }), err
}

// writesOfOurs lists our writes to what the topology controller manages: owners, and templates except for their
// annotations and status.
func writesOfOurs(cluster *scenario.Cluster) []string {
	GinkgoHelper()
	found := []string{}
	for _, event := range suite.Audit(cluster.Lab.Management) {
		ref := event.ObjectRef
		if ref == nil || ref.Subresource != "" || !audit.IsWrite(event) || !audit.Succeeded(event) || !strings.HasPrefix(event.User.Username, lab.ManagerUser) {
			continue
		}
		annotating := ref.Resource == "elementalmachinetemplates" && event.Verb == "patch"
		if !annotating && slices.Contains([]string{"machinedeployments", "kubeadmcontrolplanes", "clusters", "clusterclasses", "elementalmachinetemplates"}, ref.Resource) {
			found = append(found, event.Verb+" "+ref.Resource+" "+ref.Name)
		}
	}
	return found
}

// nextVersion of Kubernetes after that of the cluster.
const nextVersion = "v1.36.4"

// plan is the version that the topology wants for each part.
type plan struct{ controlPlane, workers string }

func versions(ctx context.Context, cluster *scenario.Cluster) (plan, error) {
	md, err := deployment(ctx, cluster)
	if err != nil {
		return plan{}, err
	}
	plane, err := cluster.ControlPlaneVersion(ctx)
	return plan{plane, md.Spec.Template.Spec.Version}, err
}

// upgradeNotes are the annotations in which Cluster API records the progress of an upgrade of Kubernetes. When it
// begins one, it records the pending hooks, and removes that record with its next write, of the step (Cluster API
// 1.14.2, reconcileCluster). It records them again when it reconciles while the control plane is being upgraded: if the
// control plane finishes before that, which no real one does, its workers follow without BeforeWorkersUpgrade.
func upgradeNotes(ctx context.Context, cluster *scenario.Cluster) (map[string]string, error) {
	object := &clusterv1.Cluster{}
	err := cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}, object)
	return object.Annotations, err
}

// hooksPassed are the lifecycle hooks that, according to Cluster API, have allowed an upgrade to proceed.
func hooksPassed(cluster *scenario.Cluster) []string {
	GinkgoHelper()
	said, err := os.ReadFile(cluster.Lab.Core.Process.LogFile())
	Expect(err).NotTo(HaveOccurred())
	found := []string{}
	for _, match := range regexp.MustCompile(`unblocked by (\w+) hook`).FindAllSubmatch(said, -1) {
		found = append(found, string(match[1]))
	}
	return found
}
