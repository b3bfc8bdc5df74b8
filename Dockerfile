# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0

# Two images from one build: "manager", which the Deployment runs, and "agent", from which an OS image takes its
# /elemental-agent, and its units from /systemd. Both hold one static binary that "go version -m" can take apart, which is what tools for bills of
# materials (SBOM) read. "make docker-build" passes the versions. Both images that are pulled are pinned by digest, which decides;
# the tag is for the reader. They can be others, from a mirror; in full, because podman knows no registry by default.
ARG GO_IMAGE=docker.io/library/golang:1.26.8@sha256:3c3e25a4da13fd0478eed2df1eb35a0e667094a7124d3993a6a1d30f71c17e79
ARG BASE=gcr.io/distroless/static:nonroot@sha256:f7f8f729987ad0fdf6b05eeeae94b26e6a0f613bdf46feea7fc40f7bd72953e6

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS=linux
ARG TARGETARCH
ARG LDFLAGS
ENV CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false"
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -ldflags "${LDFLAGS}" -o /out/ ./cmd/manager ./cmd/elemental-agent

FROM ${BASE} AS manager
COPY --from=build /out/manager /manager
# The user "nonroot" of the base image, by number, so that runAsNonRoot can be checked.
USER 65532:65532
ENTRYPOINT ["/manager"]

FROM scratch AS agent
COPY --from=build /out/elemental-agent /elemental-agent
COPY agent/units/*.service /systemd/
ENTRYPOINT ["/elemental-agent"]
