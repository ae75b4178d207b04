{{- /*
The values of a worker group that has only some providers: their instances and their secrets. The program leaves out the models
that need another one. Accepts a dict with root, group and providers.
*/ -}}
{{- define "darkroom.groupValues" -}}
{{- $values := deepCopy .root.Values -}}
{{- range .providers -}}
{{- if not (index ($values.config.providers | default dict) .) -}}
{{- fail (printf "workerGroups.%s.providers has %s, which is not in config.providers." $.group .) -}}
{{- end -}}
{{- end -}}
{{- /* The catalog stays as it is: YAML of helm reads `n`, `on` and `off` as booleans. */ -}}
{{- $_ := set $values.config "role" "worker" -}}
{{- $_ := set $values.config.worker "missing_providers" "ignore" -}}
{{- $instances := $values.config.providers -}}
{{- $_ := set $values.config "providers" (pick $instances (.providers | first)) -}}
{{- range (.providers | rest) -}}{{- $_ := set $values.config.providers . (index $instances .) -}}{{- end -}}
{{- range $instance, $secret := $values.secrets.providers -}}
{{- if not (has $instance $.providers) -}}{{- $_ := unset $values.secrets.providers $instance -}}{{- end -}}
{{- end -}}
{{- $values | toYaml -}}
{{- end -}}
