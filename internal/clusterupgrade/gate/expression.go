// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// maxEvaluation is how long the evaluation of an expression may take.
const maxEvaluation = 5 * time.Second

// Expression is a compiled expression over self. It is safe for concurrent use.
type Expression struct {
	program cel.Program
	limit   time.Duration
}

// env is the environment of expressions: what Kubernetes offers, and variable self.
var env = sync.OnceValues(func() (*cel.Env, error) {
	extended, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: []cel.EnvOption{cel.Variable("self", cel.DynType)},
	})
	if err != nil {
		return nil, fmt.Errorf("making the environment of CEL: %w", err)
	}
	return extended.StoredExpressionsEnv(), nil
})

// Compile an expression. The error says what is wrong with it.
func Compile(text string) (*Expression, error) {
	in, err := env()
	if err != nil {
		return nil, err
	}
	ast, issues := in.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if result := ast.OutputType(); !result.IsExactType(cel.BoolType) && !result.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("its result is %s: write an expression that is true or false", result)
	}
	program, err := in.Program(ast,
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(&library.CostEstimator{}),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, fmt.Errorf("preparing it: %w", err)
	}
	return &Expression{program: program, limit: maxEvaluation}, nil
}

// Denies says why the expression is not true of self; empty if it is. Self is as JSON is decoded to.
func (e *Expression) Denies(ctx context.Context, self any) string {
	ctx, cancel := context.WithTimeout(ctx, e.limit)
	defer cancel()
	result, _, err := e.program.ContextEval(ctx, map[string]any{"self": self})
	if err != nil && ctx.Err() != nil {
		return fmt.Sprintf("the expression was not evaluated within %s", e.limit)
	}
	if err != nil {
		return "the expression cannot be evaluated: " + oneLine(err.Error())
	}
	switch isTrue, isBool := result.Value().(bool); {
	case !isBool:
		return fmt.Sprintf("the expression is neither true nor false, but %s", result.Type().TypeName())
	case !isTrue:
		return "the expression is false"
	}
	return ""
}

// maxText is how many characters of what others say are shown.
const maxText = 512

// oneLine is a text without line breaks, shortened.
func oneLine(text string) string {
	text = workload.WithoutPorts(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	if of := []rune(text); len(of) > maxText {
		return string(of[:maxText]) + "..."
	}
	return text
}
