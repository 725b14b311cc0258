# An image of rlcheck alone: one static binary, certificates, a user without rights.
#   docker build -t rlcheck --build-arg COMMIT=$(git rev-parse HEAD) .
#   docker run --rm --network host -v "$PWD/reports:/reports" rlcheck run builtin:burst -t http://127.0.0.1:8080/ --limit SPEC
# The digest is that of golang:1.26.8 (docker buildx imagetools inspect golang:1.26.8); change both together.
FROM golang:1.26.8@sha256:6c2a5538f964f1c82f97ad14988bf05de100d922d159d0e398b54c7b0ca0c6c9 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG COMMIT=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.revision=$COMMIT" -o /out/rlcheck ./cmd/rlcheck && mkdir -p /out/reports /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/rlcheck /rlcheck
COPY --from=build --chown=65532:65532 /out/reports /reports
# A recording of over 200,000 requests is kept in a file of its own while it is made.
COPY --from=build --chown=65532:65532 /out/tmp /tmp
USER 65532:65532
ENTRYPOINT ["/rlcheck"]
