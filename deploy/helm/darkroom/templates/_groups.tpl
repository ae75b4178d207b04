{{- /*
The values of a worker group that has only some providers: their instances, their secrets, and the models that need no other
provider. Accepts a dict with root, group and providers.
*/ -}}
{{- define "darkroom.groupValues" -}}
{{- $values := deepCopy .root.Values -}}
{{- range .providers -}}
{{- if not (index $values.config.providers . ) -}}
{{- fail (printf "workerGroups.%s.providers has %s, which is not in config.providers." $.group .) -}}
{{- end -}}
{{- end -}}
{{- if not $values.catalog -}}
{{- fail (printf "workerGroups.%s.providers needs the catalog, from which it takes the models of these providers." .group) -}}
{{- end -}}
{{- $catalog := $values.catalog | fromYaml -}}
{{- $models := list -}}
{{- range $catalog.models -}}
{{- $needed := list -}}
{{- range (.route | default (list .)) -}}{{- $needed = append $needed .provider -}}{{- end -}}
{{- $isKnown := true -}}
{{- range $needed -}}{{- if not (has . $.providers) -}}{{- $isKnown = false -}}{{- end -}}{{- end -}}
{{- if $isKnown -}}{{- $models = append $models . -}}{{- end -}}
{{- end -}}
{{- if not $models -}}
{{- fail (printf "workerGroups.%s.providers is enough for no model of the catalog." .group) -}}
{{- end -}}
{{- $_ := set $values "catalog" (set $catalog "models" $models | toYaml) -}}
{{- $instances := $values.config.providers -}}
{{- $_ := set $values.config "providers" (pick $instances (.providers | first)) -}}
{{- range (.providers | rest) -}}{{- $_ := set $values.config.providers . (index $instances .) -}}{{- end -}}
{{- range $instance, $secret := $values.secrets.providers -}}
{{- if not (has $instance $.providers) -}}{{- $_ := unset $values.secrets.providers $instance -}}{{- end -}}
{{- end -}}
{{- $values | toYaml -}}
{{- end -}}
