{{- /*
A Deployment of one role with its disruption budget and its autoscaler. Accepts a dict with root, role (rest or worker),
component (the role, or worker- and the name of a group), values (the values of that component) and configMap (the name of
its configuration).
*/ -}}
{{- define "darkroom.processes" -}}
{{- $root := .root -}}
{{- $name := printf "%s-%s" (include "darkroom.fullname" $root) .component -}}
{{- $stop := $root.Values.stop -}}
{{- $servesGrpc := and (eq .role "rest") $root.Values.config.grpc.port -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels:
    {{- include "darkroom.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  {{- if not (or .values.autoscaling.enabled (kindIs "invalid" .values.replicas)) }}
  replicas: {{ .values.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  selector:
    matchLabels:
      {{- include "darkroom.selectorLabels" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  template:
    metadata:
      labels:
        {{- include "darkroom.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
        {{- with .values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        # A changed configuration replaces the pods.
        checksum/config: {{ include "darkroom.configFiles" $root | sha256sum }}
        {{- with .values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "darkroom.fullname" $root }}
      {{- include "darkroom.podSecurity" $root | nindent 6 }}
      # The time to drain, the time to stop, and a margin.
      terminationGracePeriodSeconds: {{ add $stop.drainSeconds (ceil $root.Values.config.worker.stop_grace_seconds) $stop.marginSeconds }}
      topologySpreadConstraints:
        {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "darkroom.selectorLabels" $root | nindent 14 }}
              app.kubernetes.io/component: {{ $.component }}
        {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: darkroom
          image: {{ include "darkroom.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [serve, --role, {{ .role }}]
          env:
            {{- include "darkroom.environment" $root | nindent 12 }}
            {{- with concat $root.Values.extraEnv .values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            {{- if eq .role "rest" }}
            - { name: http, containerPort: {{ int $root.Values.config.rest.port }} }
            {{- end }}
            {{- if $servesGrpc }}
            - { name: grpc, containerPort: {{ int $root.Values.config.grpc.port }} }
            {{- end }}
            - { name: internal, containerPort: {{ int $root.Values.config.internal.port }} }
          startupProbe:
            {{- include "darkroom.probe" "/livez" | nindent 12 }}
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            {{- include "darkroom.probe" "/livez" | nindent 12 }}
            periodSeconds: 10
            failureThreshold: 6
          readinessProbe:
            {{- include "darkroom.probe" "/readyz" | nindent 12 }}
            periodSeconds: 5
            failureThreshold: 2
          lifecycle:
            preStop: { exec: { command: [sleep, {{ $stop.drainSeconds | quote }}] } }
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          {{- include "darkroom.containerSecurity" $root | nindent 10 }}
          volumeMounts:
            {{- include "darkroom.mounts" $root | nindent 12 }}
            {{- if $servesGrpc }}
            {{- include "darkroom.grpcMounts" $root | nindent 12 }}
            {{- end }}
            {{- with concat $root.Values.extraVolumeMounts .values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
        {{- with .values.extraContainers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      volumes:
        {{- include "darkroom.volumes" (dict "root" $root "configMap" .configMap) | nindent 8 }}
        {{- if $servesGrpc }}
        {{- include "darkroom.grpcVolumes" $root | nindent 8 }}
        {{- end }}
        {{- with concat $root.Values.extraVolumes .values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- if .values.disruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels:
    {{- include "darkroom.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  maxUnavailable: {{ .values.disruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "darkroom.selectorLabels" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
{{- end }}
{{- if .values.autoscaling.enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels:
    {{- include "darkroom.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ $name }} }
  minReplicas: {{ .values.autoscaling.minReplicas }}
  maxReplicas: {{ .values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: { type: Utilization, averageUtilization: {{ .values.autoscaling.targetCPUUtilizationPercentage }} }
{{- end }}
{{- end -}}
