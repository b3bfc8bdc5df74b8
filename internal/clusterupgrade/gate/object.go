// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// maxItems is how many objects of a list are evaluated.
const maxItems = 500

// objectDenies says why an expression is not true of the objects of a gate; empty if it is.
func objectDenies(ctx context.Context, as *account, gate infrav1.UpgradeGate) (string, error) {
	expression, err := Compile(gate.Expression)
	if err != nil {
		return "its expression is not valid: " + oneLine(err.Error()), nil
	}
	self, why, err := as.read(ctx, *gate.Object)
	if err != nil || why != "" {
		return why, err
	}
	if why := expression.Denies(ctx, self); why != "" {
		return fmt.Sprintf("%s of %s", why, described(*gate.Object)), nil
	}
	return "", nil
}

// read what self is, or say why that is not known.
func (a *account) read(ctx context.Context, object infrav1.GateObject) (self map[string]any, why string, err error) {
	group, err := schema.ParseGroupVersion(object.APIVersion)
	if err != nil {
		return nil, fmt.Sprintf("its object.apiVersion %q is not one", object.APIVersion), nil
	}
	kind := group.WithKind(object.Kind)
	if strings.HasSuffix(kind.Kind, "List") { // it would read what its name without it stands for
		return nil, fmt.Sprintf("%s is not the kind of an object", kind.Kind), nil
	}
	mapping, err := a.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case err != nil:
		return nil, a.unmapped(ctx, object, fmt.Errorf("looking up kind %s: %w", kind.Kind, err)), nil
	case isSecret(mapping.Resource):
		return nil, "Secrets are not read", nil
	case object.Name == "":
		self, why, err = readList(ctx, a, object, kind)
	case mapping.Scope.Name() == meta.RESTScopeNameNamespace && object.Namespace == "":
		why = fmt.Sprintf("set its object.namespace: objects of kind %s are in namespaces", kind.Kind)
	default:
		self, err = readOne(ctx, a, object, kind)
	}
	if err != nil {
		why, err = a.unread(ctx, object, err)
	}
	return self, why, err
}

// isSecret reports whether a resource is that of Secrets, in whatever group it is served. A kind does not say so: that resource is also found as "secret".
func isSecret(of schema.GroupVersionResource) bool { return of.Resource == "secrets" }

func readOne(ctx context.Context, as client.Reader, object infrav1.GateObject, kind schema.GroupVersionKind) (map[string]any, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(kind)
	if err := as.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: object.Name}, found); err != nil {
		return nil, fmt.Errorf("reading %s: %w", described(object), err)
	}
	return found.Object, nil
}

func readList(ctx context.Context, as client.Reader, object infrav1.GateObject, kind schema.GroupVersionKind) (map[string]any, string, error) {
	selector, err := metav1.LabelSelectorAsSelector(object.Selector)
	if err != nil {
		return nil, "its object.selector is not valid: " + oneLine(err.Error()), nil
	}
	options := []client.ListOption{client.InNamespace(object.Namespace), client.Limit(maxItems)}
	if object.Selector != nil {
		options = append(options, client.MatchingLabelsSelector{Selector: selector})
	}
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(kind)
	if err := as.List(ctx, found, options...); err != nil {
		return nil, "", fmt.Errorf("reading %s: %w", described(object), err)
	}
	if found.GetContinue() != "" || len(found.Items) > maxItems {
		return nil, fmt.Sprintf("%s are more than %d: select fewer by object.selector or object.namespace", described(object), maxItems), nil
	}
	items := make([]any, 0, len(found.Items))
	for i := range found.Items {
		items = append(items, found.Items[i].Object)
	}
	return map[string]any{"items": items}, "", nil
}

// unread says why an object was not read, where the workload cluster has answered. What it says is not shown: it may quote the object.
func (a *account) unread(ctx context.Context, object infrav1.GateObject, err error) (string, error) {
	var status apierrors.APIStatus
	switch {
	case meta.IsNoMatchError(err):
		return fmt.Sprintf("the workload cluster has no kind %s in %s", object.Kind, object.APIVersion), nil
	case apierrors.IsNotFound(err):
		return described(object) + " does not exist", nil
	case errors.Is(err, workload.ErrTooLarge):
		return fmt.Sprintf("%s: %s: select fewer by object.name, object.selector or object.namespace", described(object), workload.ErrTooLarge), nil
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("reading %s is forbidden: grant ServiceAccount %s verb %s", described(object), a.key, verb(object)), nil
	case errors.As(err, &status) && !apierrors.IsUnauthorized(err):
		ctrl.LoggerFrom(ctx).Error(err, "Failed to read what a gate is about")
		return fmt.Sprintf("reading %s failed: the API server answers %d, see the log of the manager", described(object), status.Status().Code), nil
	}
	return "", err
}

// unmapped says why it is not known which resource an object is. The error may be of the connection: unlike those of reads it is not marked so, and
// would end the reconcile without a word on the gate.
func (a *account) unmapped(ctx context.Context, object infrav1.GateObject, err error) string {
	why, err := a.unread(ctx, object, err)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to look up what a gate is about")
		return fmt.Sprintf("the workload cluster does not answer whether it has kind %s in %s, see the log of the manager", object.Kind, object.APIVersion)
	}
	return why
}

// verb that a ServiceAccount needs for an object.
func verb(object infrav1.GateObject) string {
	if object.Name == "" {
		return "list"
	}
	return "get"
}

// described is an object by its kind, namespace and name.
func described(object infrav1.GateObject) string {
	if object.Name != "" {
		return object.Kind + " " + strings.TrimPrefix(object.Namespace+"/"+object.Name, "/")
	}
	if object.Namespace != "" {
		return "the objects of kind " + object.Kind + " in namespace " + object.Namespace
	}
	return "the objects of kind " + object.Kind
}
