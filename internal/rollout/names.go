// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

const (
	// nameLength keeps every name usable as the value of a label as well.
	nameLength     = 63
	cloneSuffix    = 8
	upgradeSuffix  = 10
	nameSeparators = "-."
)

// Content is a version of a template's content. It never recurs.
type Content struct {
	Template string
	UID      types.UID
	// Generation of the template.
	Generation int64
	// LookedUp is the resourceVersion of the ManagedOSVersion with the image; empty if there is none.
	LookedUp string
}

// CloneName is the name of the clone of one content of a template for the Machines of one cluster. Names must never be
// reused: attempts, and approvals of nodes, are known by the name of the clone that they are for.
func CloneName(content Content, cluster string) string {
	parts := []string{string(content.UID), strconv.FormatInt(content.Generation, 10), cluster}
	if content.LookedUp != "" {
		parts = append(parts, content.LookedUp)
	}
	return suffixed(content.Template, digest(cloneSuffix, parts...))
}

// UpgradeName is the name of the attempt to upgrade the host of a Machine to the OS of a template. It is
// deterministic, so that a hook that is called again finds the attempt.
func UpgradeName(machine, template, osHash string) string {
	return suffixed(machine, digest(upgradeSuffix, machine, template, osHash))
}

// IsClone reports whether an ElementalMachineTemplate is a clone, that is, a copy of another one that a rollout has made.
func IsClone(template client.Object) bool {
	_, found := template.GetLabels()[infrav1.SourceTemplateLabel]
	return found
}

// FamilyOf is the value of the label SourceTemplateLabel of the clones of a template. It is that of the template itself, too.
func FamilyOf(template client.Object) string {
	return cmp.Or(template.GetLabels()[infrav1.SourceTemplateLabel], LabelValue(template.GetName()))
}

// SourceName is the name of the ElementalMachineTemplate of which one is a clone. The label has a hash of a name that is too long for it.
func SourceName(clone client.Object) string {
	return cmp.Or(clone.GetAnnotations()[infrav1.SourceTemplateLabel], clone.GetLabels()[infrav1.SourceTemplateLabel])
}

// LabelValue converts a name to the value of a label: the name itself, or a hash if it is too long.
func LabelValue(name string) string { return format.MustFormatValue(name) }

func suffixed(name, suffix string) string {
	if longest := nameLength - len(suffix) - 1; len(name) > longest {
		name = strings.TrimRight(name[:longest], nameSeparators)
	}
	return name + "-" + suffix
}
