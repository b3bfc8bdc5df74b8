// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

// What specs compare openapi.yaml with.
var (
	HostPhases    = hostPhases
	AttemptPhases = attemptPhases
	AddressTypes  = addressTypes
	BootModes     = bootModes
)

// Operations are the routes: "METHOD path" to name.
func Operations() map[string]string {
	operations := map[string]string{}
	for _, one := range routes() {
		operations[one.method+" "+one.path] = one.name
	}
	return operations
}
