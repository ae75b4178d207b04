{{- /* Settings of every pod, regardless of what it runs. */ -}}
{{- define "darkroom.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "darkroom.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{- define "darkroom.mounts" -}}
- { name: config, mountPath: /etc/darkroom, readOnly: true }
- { name: installation-secret, mountPath: /run/secrets/darkroom, readOnly: true }
- { name: tmp, mountPath: /tmp }
{{- end -}}

{{- /* Accepts a dict with root and configMap. */ -}}
{{- define "darkroom.volumes" -}}
- name: config
  configMap:
    name: {{ .configMap }}
- name: installation-secret
  secret:
    secretName: {{ required "secrets.installation.existingSecret must name a secret with 32 random bytes in hex." .root.Values.secrets.installation.existingSecret }}
    # 0440 in decimal: YAML parsers differ in how they read 0440.
    defaultMode: 288
    items:
      - { key: {{ .root.Values.secrets.installation.key }}, path: secret }
- name: tmp
  # A pod that uses more is evicted: files of requests wait here, up to config.openai.spool_mib, and what workers make.
  emptyDir: { sizeLimit: {{ printf "%dMi" (add 1024 (dig "openai" "spool_mib" 2048 .root.Values.config)) }} }
{{- end -}}

{{- define "darkroom.probe" -}}
httpGet: { path: {{ . }}, port: internal }
timeoutSeconds: 5
{{- end -}}
