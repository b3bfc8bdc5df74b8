// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// inPlaceHooks are the hooks that Cluster API allows one extension for in a namespace.
var inPlaceHooks = []string{"CanUpdateMachine", "CanUpdateMachineSet", "UpdateMachine"}

// ourHandlers are the names that ours offers them under.
var ourHandlers = []string{CanUpdateMachineHandler, CanUpdateMachineSetHandler, UpdateMachineHandler}

// NotOptedIn says that a namespace has not opted in to upgrades in place, and what to change; empty where it has. The label of the Namespace is the
// consent, and nothing else: neither an extension nor feature gates are needed for what Cluster API takes no part in.
func (p *Prover) NotOptedIn(ctx context.Context, namespace string) (string, error) {
	object, err := p.namespace(ctx, namespace)
	if err != nil {
		return "", err
	}
	return notOptedIn(object), nil
}

func notOptedIn(namespace *corev1.Namespace) string {
	if namespace.Labels[infrav1.ExtensionNamespaceLabel] == infrav1.ExtensionNamespaceEnabled {
		return ""
	}
	return fmt.Sprintf("Namespace %s has not opted in to upgrades in place: label it with %s=%s",
		namespace.Name, infrav1.ExtensionNamespaceLabel, infrav1.ExtensionNamespaceEnabled)
}

func (p *Prover) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	object := &corev1.Namespace{}
	if err := p.Live.Get(ctx, client.ObjectKey{Name: name}, object); err != nil {
		return nil, fmt.Errorf("reading Namespace %s: %w", name, err)
	}
	return object, nil
}

// proveExtension makes sure that our ExtensionConfig, and no other, is asked about a namespace. It
// returns ours where there is one, whatever its state.
func (p *Prover) proveExtension(ctx context.Context, namespace string) (*runtimev1.ExtensionConfig, []Problem, error) {
	configs, object, err := p.extensions(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	ours, problems := judgeExtensions(configs, object)
	return ours, problems, nil
}

// extensions are all ExtensionConfigs, by name, and the namespace that they may select.
func (p *Prover) extensions(ctx context.Context, namespace string) ([]runtimev1.ExtensionConfig, *corev1.Namespace, error) {
	list := &runtimev1.ExtensionConfigList{}
	if err := p.Live.List(ctx, list); err != nil && !meta.IsNoMatchError(err) {
		return nil, nil, fmt.Errorf("listing ExtensionConfigs: %w", err)
	}
	object, err := p.namespace(ctx, namespace)
	slices.SortFunc(list.Items, func(a, b runtimev1.ExtensionConfig) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, object, err
}

func judgeExtensions(configs []runtimev1.ExtensionConfig, namespace *corev1.Namespace) (*runtimev1.ExtensionConfig, []Problem) {
	ours := slices.IndexFunc(configs, isOurs)
	if ours < 0 {
		return nil, []Problem{{infrav1.ExtensionNotReadyReason, notInstalled(configs)}}
	}
	for i := range configs {
		if isOurs(configs[i]) && matches(&configs[i], namespace) {
			ours = i
			break
		}
	}
	config := &configs[ours]
	if missing := notOptedIn(namespace); missing != "" {
		return config, []Problem{{infrav1.NamespaceNotOptedInReason, missing}}
	}
	if !isDiscovered(config) {
		return config, []Problem{{infrav1.ExtensionNotReadyReason, fmt.Sprintf(
			"ExtensionConfig %s is not discovered: see its conditions", config.Name)}}
	}
	if !matches(config, namespace) {
		return config, []Problem{{infrav1.ExtensionNotMatchingReason, notSelected(config, namespace)}}
	}
	return config, competing(configs, ours, namespace)
}

// competing are the other extensions that offer in-place hooks to the namespace.
func competing(configs []runtimev1.ExtensionConfig, ours int, namespace *corev1.Namespace) []Problem {
	problems := []Problem{}
	for i := range configs {
		if i != ours && offersInPlaceHook(&configs[i]) && matches(&configs[i], namespace) {
			problems = append(problems, Problem{infrav1.CompetingExtensionReason, fmt.Sprintf(
				"ExtensionConfig %s offers in-place update hooks to Namespace %s too, where Cluster API allows one: narrow its namespaceSelector",
				configs[i].Name, namespace.Name)})
		}
	}
	return problems
}

func notSelected(config *runtimev1.ExtensionConfig, namespace *corev1.Namespace) string {
	return fmt.Sprintf("ExtensionConfig %s does not select Namespace %s: change its namespaceSelector to %s=%s",
		config.Name, namespace.Name, infrav1.ExtensionNamespaceLabel, infrav1.ExtensionNamespaceEnabled)
}

func notInstalled(configs []runtimev1.ExtensionConfig) string {
	message := "No ExtensionConfig offers the handlers " + strings.Join(ourHandlers, ", ") +
		": install the runtime extension, with clusterctl init --runtime-extension elemental"
	waiting := []string{}
	for i := range configs {
		if !isDiscovered(&configs[i]) {
			waiting = append(waiting, configs[i].Name)
		}
	}
	if len(waiting) == 0 {
		return message
	}
	return message + ", or wait until it is discovered (not discovered so far: " + strings.Join(waiting, ", ") + ")"
}

// isOurs knows our ExtensionConfig, whose name the user may choose, by its handlers.
func isOurs(config runtimev1.ExtensionConfig) bool {
	for _, handler := range ourHandlers {
		if !slices.ContainsFunc(config.Status.Handlers, func(h runtimev1.ExtensionHandler) bool {
			return h.Name == handler+"."+config.Name
		}) {
			return false
		}
	}
	return true
}

func offersInPlaceHook(config *runtimev1.ExtensionConfig) bool {
	return slices.ContainsFunc(config.Status.Handlers, func(h runtimev1.ExtensionHandler) bool {
		return slices.Contains(inPlaceHooks, h.RequestHook.Hook)
	})
}

func isDiscovered(config *runtimev1.ExtensionConfig) bool {
	return meta.IsStatusConditionTrue(config.Status.Conditions, runtimev1.ExtensionConfigDiscoveredCondition)
}

// matches reads a namespaceSelector. Without one, an extension is asked about every Namespace.
func matches(config *runtimev1.ExtensionConfig, namespace *corev1.Namespace) bool {
	if config.Spec.NamespaceSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(config.Spec.NamespaceSelector)
	return err == nil && selector.Matches(labels.Set(namespace.Labels))
}
