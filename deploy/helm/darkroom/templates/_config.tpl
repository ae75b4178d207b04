{{- /* The files in /etc/darkroom. */ -}}
{{- define "darkroom.configFiles" -}}
{{- $endpoint := required "config.minio.endpoint must say where the object store is." .Values.config.minio.endpoint -}}
{{- $own := dict "data_folder" "/data" "secret_file" "/run/secrets/darkroom/secret" -}}
{{- if .Values.catalog -}}
{{- $_ := set $own "catalog" "/etc/darkroom/catalog.yaml" -}}
{{- end -}}
{{- if .Values.config.grpc.port -}}
{{- $_ := set $own "grpc" (include "darkroom.grpcFiles" . | fromYaml) -}}
{{- end -}}
{{- with include "darkroom.publicUrl" . -}}
{{- $_ := set $own "rest" (dict "public_url" .) -}}
{{- end -}}
darkroom.yaml: |
  {{- toYaml (merge $own .Values.config) | nindent 2 }}
{{- with .Values.catalog }}
catalog.yaml: |
  {{- . | nindent 2 }}
{{- end }}
{{- range $name, $text := .Values.catalogFiles }}
{{ $name }}: |
  {{- $text | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The service's address for clients: the given one, or that of the Ingress. */ -}}
{{- define "darkroom.publicUrl" -}}
{{- if .Values.config.rest.public_url -}}
{{ .Values.config.rest.public_url }}
{{- else if .Values.ingress.enabled -}}
{{ ternary "https" "http" (ne .Values.ingress.tlsSecret "") }}://{{ .Values.ingress.host }}
{{- end -}}
{{- end -}}

{{- /* References to secrets: no manifest contains their values. */ -}}
{{- define "darkroom.environment" -}}
- name: DARKROOM_CONFIG
  value: /etc/darkroom/darkroom.yaml
{{- if eq .Values.config.stores.database "postgres" }}
{{- $secret := required "secrets.postgres.existingSecret must name a secret with PostgreSQL's address." .Values.secrets.postgres.existingSecret }}
- name: DARKROOM_POSTGRES_URL
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ .Values.secrets.postgres.urlKey }}
{{- with .Values.secrets.postgres.directUrlKey }}
- name: DARKROOM_POSTGRES_DIRECT_URL
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ . }}
{{- end }}
{{- else }}
- name: DARKROOM_MONGO_URL
  valueFrom:
    secretKeyRef:
      name: {{ required "secrets.mongo.existingSecret must name a secret with MongoDB's address." .Values.secrets.mongo.existingSecret }}
      key: {{ .Values.secrets.mongo.urlKey }}
{{- end }}
- name: DARKROOM_MINIO_ACCESS_KEY
  valueFrom:
    secretKeyRef:
      name: {{ required "secrets.objectStore.existingSecret must name a secret with the object store's keys." .Values.secrets.objectStore.existingSecret }}
      key: {{ .Values.secrets.objectStore.accessKeyKey }}
- name: DARKROOM_MINIO_SECRET_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.secrets.objectStore.existingSecret }}
      key: {{ .Values.secrets.objectStore.secretKeyKey }}
{{- if or .Values.secrets.objectStore.uploadAccessKeyKey .Values.secrets.objectStore.uploadSecretKeyKey }}
- name: DARKROOM_MINIO_UPLOAD_ACCESS_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.secrets.objectStore.existingSecret }}
      key: {{ required "secrets.objectStore.uploadAccessKeyKey belongs to uploadSecretKeyKey." .Values.secrets.objectStore.uploadAccessKeyKey }}
- name: DARKROOM_MINIO_UPLOAD_SECRET_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.secrets.objectStore.existingSecret }}
      key: {{ required "secrets.objectStore.uploadSecretKeyKey belongs to uploadAccessKeyKey." .Values.secrets.objectStore.uploadSecretKeyKey }}
{{- end }}
{{- if .Values.secrets.signIn.existingSecret }}
- name: DARKROOM_SIGN_IN_PROVIDER_CLIENT_SECRET
  valueFrom:
    secretKeyRef:
      name: {{ .Values.secrets.signIn.existingSecret }}
      key: {{ .Values.secrets.signIn.clientSecretKey }}
{{- end }}
{{- range $instance, $secret := .Values.secrets.providers }}
{{- if not (hasKey ($.Values.config.providers | default dict) $instance) }}
{{- fail (printf "secrets.providers has %s, which is not in config.providers." $instance) }}
{{- end }}
- name: DARKROOM_PROVIDERS_{{ $instance | replace "-" "_" | upper }}_API_KEY
  valueFrom:
    secretKeyRef:
      name: {{ $secret.existingSecret }}
      key: {{ $secret.key | default "api-key" }}
{{- end }}
{{- end -}}
