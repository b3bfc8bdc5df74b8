// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts

import (
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// ID of an attempt. It is new for every ElementalHostUpgrade, even of the same name, and stays with one that "clusterctl move" takes to
// another management cluster, which gives it another UID.
func ID(upgrade *infrav1.ElementalHostUpgrade) string {
	if id := upgrade.Annotations[infrav1.AttemptAnnotation]; strings.HasPrefix(id, upgrade.Name+"/") {
		return id
	}
	return FirstID(upgrade)
}

// FirstID is the ID that an attempt gets where it is created. After a move it has another UID, and keeps its ID.
func FirstID(upgrade *infrav1.ElementalHostUpgrade) string {
	const uidLength = 8
	return upgrade.Name + "/" + string(upgrade.UID)[:min(uidLength, len(upgrade.UID))]
}

// NameOf is the name of the attempt with an id.
func NameOf(id string) string {
	name, _, _ := strings.Cut(id, "/")
	return name
}
