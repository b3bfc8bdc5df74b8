// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package smbios substitutes SMBIOS data of a machine into the labels and annotations of a registration, for
// example ${System Information/UUID}. The names are those that dmidecode prints, which the Elemental operator
// uses as well. The agent reads the values from the kernel and sends them when it registers. They are substituted by
// the Elemental API, so that only the registration decides which labels its hosts get.
package smbios
