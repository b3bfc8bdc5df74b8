// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"path/filepath"
	"strings"
	"unicode"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/smbios"
)

// smbios returns the SMBIOS fields of the host, for the labels of its registration. Fields that cannot be read are left out.
func (a *Agent) smbios() map[string]string {
	if a.Config.Agent.NoSMBIOS {
		return nil
	}
	values := map[string]string{}
	for _, field := range smbios.Fields() {
		value, err := a.Host.ReadTrimmed(filepath.Join(smbios.Directory, field.File))
		if err != nil {
			a.Log.Warn("Cannot read an SMBIOS field", "field", field.Name, "error", err)
			continue
		}
		if value = printable(value); value != "" {
			values[field.Name] = value
		}
	}
	return values
}

// printable drops the padding that firmware puts into values, and truncates them.
func printable(value string) string {
	value = strings.Map(func(char rune) rune {
		if char == unicode.ReplacementChar || !unicode.IsPrint(char) {
			return -1
		}
		return char
	}, value)
	if len(value) > smbios.MaxValue {
		value = strings.ToValidUTF8(value[:smbios.MaxValue], "")
	}
	return strings.TrimSpace(value)
}
