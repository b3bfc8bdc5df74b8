// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import "github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"

// endingKubelet is an image whose kubelet ends at once, again and again.
var endingKubelet = osimage.Files{"usr/bin/kubelet": "#!/bin/sh\nexit 1\n"}

// withoutNetwork is an image that does not configure the uplink. No unit fails.
var withoutNetwork = osimage.Files{"usr/lib/systemd/system/systemd-networkd.service": "->/dev/null"}
