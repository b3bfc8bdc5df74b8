// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package smbios names what a machine's firmware says of it, and fills it into the labels and annotations
// of a registration, as ${System Information/UUID}. The names are those that dmidecode prints, which the
// Elemental operator uses as well. The agent reads the values from the kernel and sends them when it
// registers; the Elemental API fills them in, so that a registration alone decides which labels its hosts get.
package smbios
