// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// newTemplate creates a template, as a person would who rotates by hand, and returns its name.
func newTemplate(ctx context.Context, os image.Image) string {
	GinkgoHelper()
	made++
	template := &infrav1.ElementalMachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: fmt.Sprintf("workers-%d", made)},
		Spec: infrav1.ElementalMachineTemplateSpec{Template: infrav1.ElementalMachineTemplateResource{
			Spec: infrav1.ElementalMachineSpec{
				Selector:            &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r1"}},
				OSVersionManagement: osversion.OfImage(os.URI()),
			},
		}},
	}
	Expect(cluster.Lab.Kube.Create(ctx, template)).To(Succeed())
	return template.Name
}

// pointTo changes the reference of the MachineDeployment, as kubectl does.
func pointTo(ctx context.Context, template string) error {
	patch := strings.ReplaceAll(`{"spec":{"template":{"spec":{"infrastructureRef":{"name":"NAME"}}}}}`, "NAME", template)
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "machinedeployment", scenario.Deployment, "--type", "merge", "--patch", patch)
	return err
}

// reference is the template that the MachineDeployment refers to.
func reference(ctx context.Context) (string, error) {
	md := &clusterv1.MachineDeployment{}
	err := cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.Deployment}, md)
	return md.Spec.Template.Spec.InfrastructureRef.Name, err
}

func elementalMachines(ctx context.Context) ([]infrav1.ElementalMachine, error) {
	list := &infrav1.ElementalMachineList{}
	err := cluster.Lab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()))
	return list.Items, err
}

// madeFrom are the templates whose content the Machines were last updated to.
func madeFrom(ctx context.Context) ([]string, error) {
	machines, err := elementalMachines(ctx)
	names := []string{}
	for i := range machines {
		names = append(names, machines[i].Annotations[clusterv1.TemplateClonedFromNameAnnotation])
	}
	return names, err
}

// upToDate are this provider's conditions of that name, by host: "True", or "False/" and the reason.
func upToDate(ctx context.Context) (map[string]string, error) {
	machines, err := elementalMachines(ctx)
	said := map[string]string{}
	for i := range machines {
		condition := conditions.Get(&machines[i], infrav1.OSUpToDateCondition)
		switch {
		case condition == nil || machines[i].Spec.HostRef == nil:
		case condition.Status == metav1.ConditionTrue:
			said[machines[i].Spec.HostRef.Name] = string(condition.Status)
		default:
			said[machines[i].Spec.HostRef.Name] = string(condition.Status) + "/" + condition.Reason
		}
	}
	return said, err
}

// conditionOf a template, as "Status/Reason: message".
func conditionOf(ctx context.Context, template, conditionType string) (string, error) {
	object := &infrav1.ElementalMachineTemplate{}
	err := cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: template}, object)
	condition := conditions.Get(object, conditionType)
	if condition == nil {
		return "", err
	}
	return fmt.Sprintf("%s/%s: %s", condition.Status, condition.Reason, condition.Message), err
}

// openRollouts of a template are those that are recorded and not completed.
func openRollouts(ctx context.Context, template string) ([]string, error) {
	all, err := rollout.OfTemplate(ctx, cluster.Lab.Kube, cluster.Namespace(), template)
	names := []string{}
	for i := range all {
		if !all[i].Spec.Completed {
			names = append(names, all[i].Name)
		}
	}
	return names, err
}

// told are the notes of events with a reason.
func told(ctx context.Context, reason string) ([]string, error) {
	list := &eventsv1.EventList{}
	err := cluster.Lab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()))
	notes := []string{}
	for i := range list.Items {
		if event := &list.Items[i]; event.Reason == reason {
			notes = append(notes, event.Regarding.Kind+" "+event.Regarding.Name+": "+event.Note)
		}
	}
	return notes, err
}

// attemptFor is the first attempt to upgrade a host to an image; it has no name if there is none.
func attemptFor(ctx context.Context, os image.Image) (*infrav1.ElementalHostUpgrade, error) {
	attempts, err := cluster.Attempts(ctx)
	for i := range attempts {
		if attempts[i].Spec.ImageURI == os.URI() {
			return &attempts[i], nil
		}
	}
	return &infrav1.ElementalHostUpgrade{}, err
}

// rotate has the MachineDeployment refer to a new template with an image, and returns its name.
func rotate(ctx context.Context, os image.Image) string {
	GinkgoHelper()
	name := newTemplate(ctx, os)
	Eventually(pointTo).WithContext(ctx).WithArguments(name).Should(Succeed())
	return name
}

// begin a rotation to an image, and return the attempt of the first host when that writes the image. The host
// does not finish writing until it is released.
func begin(ctx context.Context, os image.Image) (attempt *infrav1.ElementalHostUpgrade, release func()) {
	GinkgoHelper()
	release = holdWriting()
	rotate(ctx, os)
	return writing(ctx, os), release
}

// writing is the attempt for an image whose host writes it.
func writing(ctx context.Context, os image.Image) *infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	Eventually(attemptFor).WithContext(ctx).WithArguments(os).Should(HaveField("Status.Step", "Reboot"))
	attempt, err := attemptFor(ctx, os)
	Expect(err).NotTo(HaveOccurred())
	return attempt
}

// holdWriting blocks each host halfway through writing an image, until all are released or the spec ends.
func holdWriting() (release func()) {
	GinkgoHelper()
	held := suite.HoldHosts(cluster.Lab, infrav1.HostUpgradeApplying)
	return func() { held.Release(infrav1.HostUpgradeApplying) }
}

// machineOf is the Machine of an attempt.
func machineOf(ctx context.Context, attempt *infrav1.ElementalHostUpgrade) (*clusterv1.Machine, error) {
	machine := &clusterv1.Machine{}
	err := cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: attempt.Namespace, Name: attempt.Spec.MachineName}, machine)
	return machine, err
}

// upgrades counts the runs of `elemental upgrade` on the workers' hosts.
func upgrades() map[string]int {
	GinkgoHelper()
	counted := map[string]int{}
	for _, worker := range workers {
		count, err := cluster.Lab.Host(worker.Node).Upgrades()
		Expect(err).NotTo(HaveOccurred())
		counted[worker.Node] = count
	}
	return counted
}
