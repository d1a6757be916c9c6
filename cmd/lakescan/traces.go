package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/tracing"
)

// exportLimit is how long the end of a run waits for a collector that does not answer.
const exportLimit = 2 * time.Second

// traced has a client's scans and requests told to an OpenTelemetry collector, under a span of the command, if the environment names one:
// OTEL_EXPORTER_OTLP_ENDPOINT, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT; the exporter reads OTEL_EXPORTER_OTLP_HEADERS and the rest itself. TRACEPARENT
// makes the command a part of a trace that its starter began. end must be called with the command's outcome, when no scan is open.
//
// A collector that is away costs a warning in the log and at most two seconds, never the answer.
func (a *app) traced(ctx context.Context, cmd *cobra.Command, cfg *lakescan.Config) (context.Context, func(error), error) {
	if lookup(a.env, "OTEL_EXPORTER_OTLP_ENDPOINT") == "" && lookup(a.env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" || lookup(a.env, "OTEL_SDK_DISABLED") == "true" {
		return ctx, func(error) {}, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { a.log.Warn("traces", "error", err) }))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	what, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "lakescan"), attribute.String("service.version", readVersion().Version)), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(what))
	tracing.New(provider).Attach(cfg)
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": lookup(a.env, "TRACEPARENT"), "tracestate": lookup(a.env, "TRACESTATE")})
	ctx, span := provider.Tracer("github.com/lakescan/lakescan/cmd/lakescan").Start(ctx, cmd.CommandPath())
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, a.redact.Clean(err.Error()))
		}
		span.End()
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportLimit)
		defer cancel()
		if err := provider.Shutdown(limit); err != nil {
			a.log.Warn("traces", "error", err)
		}
	}, nil
}
