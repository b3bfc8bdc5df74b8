module github.com/rancher-sandbox/cluster-api-provider-elemental/hack/tools/k3s

go 1.26.0

// Of this module the CRDs alone are used, to validate the templates for K3s: no Go code is built from it.
require github.com/k3s-io/cluster-api-k3s v0.3.0
