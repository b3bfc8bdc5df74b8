// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

const (
	// maxEvaluation is how long the evaluation of an expression may take. What it does between two questions for the time is bounded by what follows.
	maxEvaluation = 5 * time.Second
	// maxCosts of an evaluation are Kubernetes' for a rule of a CRD.
	maxCosts = celconfig.PerCallLimit
	// maxExpression is how many characters an expression has, as the CRD says, and maxDepth how deep it is nested.
	maxExpression, maxDepth = 4096, 64
	// maxValues is how many values self has: objects, lists, fields and elements. maxString is how many bytes a text of it has that is evaluated.
	maxValues, maxString = 500_000, 64 << 10
)

// Expression is a compiled expression over self. It is safe for concurrent use.
type Expression struct {
	program cel.Program
	ast     *ast.AST
	limit   time.Duration
}

// Compile an expression. The error says what is wrong with it. Nothing is evaluated yet.
func Compile(text string) (*Expression, error) {
	if length := utf8.RuneCountInString(text); length > maxExpression {
		return nil, fmt.Errorf("it has %d characters: %d are the most", length, maxExpression)
	}
	in, err := environment()
	if err != nil {
		return nil, err
	}
	parsed, issues := in.Parse(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if err := refusedShape(parsed); err != nil {
		return nil, err
	}
	checked, issues := in.Check(parsed)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if result := checked.OutputType(); !result.IsExactType(cel.BoolType) && !result.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("its result is %s: write an expression that is true or false", result)
	}
	program, err := in.Program(checked,
		cel.EvalOptions(cel.OptTrackCost), cel.CostLimit(maxCosts), cel.CostTracking(costs{}), cel.InterruptCheckFrequency(1))
	if err != nil {
		return nil, fmt.Errorf("preparing it: %w", err)
	}
	return &Expression{program: program, ast: checked.NativeRep(), limit: maxEvaluation}, nil
}

// Denies says why the expression is not true of self; empty if it is. Self is as JSON is decoded to. No value of self is in what it says.
func (e *Expression) Denies(ctx context.Context, self any) string {
	if valuesIn(self, maxValues) > maxValues {
		return fmt.Sprintf("the expression was not evaluated: there are more than %d values, select fewer by object.name, object.selector or object.namespace", maxValues)
	}
	ctx, cancel := context.WithTimeout(ctx, e.limit)
	defer cancel()
	result, _, err := e.program.ContextEval(ctx, map[string]any{"self": self})
	if err != nil && ctx.Err() != nil {
		return fmt.Sprintf("the expression was not evaluated within %s", e.limit)
	}
	if err != nil {
		return "the expression cannot be evaluated: " + e.failure(err)
	}
	switch is, isBool := result.(types.Bool); {
	case !isBool:
		return fmt.Sprintf("the expression is neither true nor false, but %s", result.Type().TypeName())
	case !bool(is):
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
