{{- /* The parts of the gRPC front. Used only if config.grpc.port is set, and only in REST pods. */ -}}
{{- define "darkroom.grpcFiles" -}}
{{- $tls := .Values.secrets.grpc.tls -}}
{{- if and (not $tls.existingSecret) (not .Values.config.grpc.plaintext) -}}
{{- fail "secrets.grpc.tls.existingSecret must name a secret with a certificate and its key, or config.grpc.plaintext say that something in front encrypts." -}}
{{- end -}}
callers_file: /run/secrets/grpc-callers/callers.yaml
{{- if $tls.existingSecret }}
tls_cert_file: /run/secrets/grpc-tls/tls.crt
tls_key_file: /run/secrets/grpc-tls/tls.key
{{- if $tls.clientCaKey }}
tls_client_ca_file: /run/secrets/grpc-tls/ca.crt
{{- end }}
{{- end }}
{{- end -}}

{{- define "darkroom.grpcMounts" -}}
- { name: grpc-callers, mountPath: /run/secrets/grpc-callers, readOnly: true }
{{- if .Values.secrets.grpc.tls.existingSecret }}
- { name: grpc-tls, mountPath: /run/secrets/grpc-tls, readOnly: true }
{{- end }}
{{- end -}}

{{- define "darkroom.grpcVolumes" -}}
- name: grpc-callers
  secret:
    secretName: {{ required "secrets.grpc.callers.existingSecret must name a secret with the file of callers." .Values.secrets.grpc.callers.existingSecret }}
    # 0440 in decimal: YAML parsers differ in how they read 0440.
    defaultMode: 288
    items:
      - { key: {{ .Values.secrets.grpc.callers.key }}, path: callers.yaml }
{{- with .Values.secrets.grpc.tls }}
{{- if .existingSecret }}
- name: grpc-tls
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 288
    items:
      - { key: {{ .certKey }}, path: tls.crt }
      - { key: {{ .keyKey }}, path: tls.key }
      {{- if .clientCaKey }}
      - { key: {{ .clientCaKey }}, path: ca.crt }
      {{- end }}
{{- end }}
{{- end }}
{{- end -}}
