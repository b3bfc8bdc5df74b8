// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/cluster-api/util/secret"
)

// Refusal is why a kubeconfig is not used. Its message is for operators, and deterministic.
type Refusal struct {
	// Secret that has the kubeconfig, as NAMESPACE/NAME.
	Secret string
	// Problems, each with the field and what to do.
	Problems []string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("the kubeconfig in Secret %s is not used: %s", r.Secret, strings.Join(r.Problems, "; "))
}

// Check returns a *Refusal if the kubeconfig in a Secret must not be used. It checks all entries, including those that the current context
// does not use. A Secret without a kubeconfig passes: there is none yet.
func Check(of *corev1.Secret) error {
	content := of.Data[secret.KubeconfigDataName]
	if len(content) == 0 {
		return nil
	}
	problems := problemsOf(content)
	if len(problems) == 0 {
		return nil
	}
	return &Refusal{Secret: of.Namespace + "/" + of.Name, Problems: problems}
}

func problemsOf(content []byte) []string {
	config, err := clientcmd.Load(content)
	if err != nil {
		// An error of the decoder may quote the content.
		return []string{fmt.Sprintf("key %q cannot be read as a kubeconfig, correct it", secret.KubeconfigDataName)}
	}
	problems := []string{}
	for _, name := range slices.Sorted(maps.Keys(config.Clusters)) {
		problems = append(problems, problemsOfCluster(name, config.Clusters[name])...)
	}
	for _, name := range slices.Sorted(maps.Keys(config.AuthInfos)) {
		problems = append(problems, problemsOfUser(name, config.AuthInfos[name])...)
	}
	return problems
}

func problemsOfCluster(name string, cluster *clientcmdapi.Cluster) []string {
	if cluster.CertificateAuthority == "" {
		return nil
	}
	return []string{fmt.Sprintf("certificate-authority of cluster %q is a file, put its content into certificate-authority-data", name)}
}

func problemsOfUser(name string, user *clientcmdapi.AuthInfo) []string {
	const instead = "write a token or a client certificate into the kubeconfig"
	problems := []string{}
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	refuse(user.TokenFile != "", "tokenFile of user %q is a file, put its content into token", name)
	refuse(user.ClientCertificate != "", "client-certificate of user %q is a file, put its content into client-certificate-data", name)
	refuse(user.ClientKey != "", "client-key of user %q is a file, put its content into client-key-data", name)
	refuse(user.Exec != nil, "exec of user %q starts a program, %s", name, instead)
	refuse(user.AuthProvider != nil, "auth-provider of user %q is a plug-in, %s", name, instead)
	return problems
}
