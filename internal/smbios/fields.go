// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package smbios

import (
	"slices"
	"strings"
)

// Directory of the kernel with one file per field.
// Source: Documentation/ABI/testing/sysfs-firmware-dmi-tables and drivers/firmware/dmi-id.c of Linux.
const Directory = "/sys/class/dmi/id"

// Limits of what a host sends.
const (
	// MaxValue is how long a value may be, in bytes.
	MaxValue = 256
)

// Field of SMBIOS.
type Field struct {
	// Name is how templates name it, for example "System Information/UUID".
	Name string
	// File in Directory that has its value.
	File string
}

// Fields are all fields, by section.
func Fields() []Field { return slices.Clone(fields) }

var fields = []Field{
	{"BIOS Information/Vendor", "bios_vendor"},
	{"BIOS Information/Version", "bios_version"},
	{"BIOS Information/Release Date", "bios_date"},
	{"System Information/Manufacturer", "sys_vendor"},
	{"System Information/Product Name", "product_name"},
	{"System Information/Version", "product_version"},
	{"System Information/Serial Number", "product_serial"},
	{"System Information/UUID", "product_uuid"},
	{"System Information/SKU Number", "product_sku"},
	{"System Information/Family", "product_family"},
	{"Base Board Information/Manufacturer", "board_vendor"},
	{"Base Board Information/Product Name", "board_name"},
	{"Base Board Information/Version", "board_version"},
	{"Base Board Information/Serial Number", "board_serial"},
	{"Base Board Information/Asset Tag", "board_asset_tag"},
	{"Chassis Information/Manufacturer", "chassis_vendor"},
	{"Chassis Information/Type", "chassis_type"},
	{"Chassis Information/Version", "chassis_version"},
	{"Chassis Information/Serial Number", "chassis_serial"},
	{"Chassis Information/Asset Tag", "chassis_asset_tag"},
}

// Known reports whether there is a field of this name.
func Known(name string) bool {
	return slices.ContainsFunc(fields, func(field Field) bool { return field.Name == name })
}

// names of all fields, for messages.
func names() string {
	all := make([]string, 0, len(fields))
	for _, field := range fields {
		all = append(all, field.Name)
	}
	return strings.Join(all, ", ")
}
