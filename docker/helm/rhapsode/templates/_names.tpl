{{- define "rhapsode.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "rhapsode.secret" -}}
{{- .Values.secrets.existing | default (include "rhapsode.name" .) }}
{{- end }}

{{/* Labels of everything: (list $ "component") */}}
{{- define "rhapsode.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
{{ include "rhapsode.selector" . }}
{{- end }}

{{- define "rhapsode.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* An image: (list $ "api" "") or (list $ "worker" "cuda") */}}
{{- define "rhapsode.image" -}}
{{- $root := index . 0 }}{{ $image := $root.Values.image }}{{ $variant := index . 2 -}}
{{- with $image.registry }}{{ . }}/{{ end }}{{ get $image (index . 1) }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- with $variant }}-{{ . }}{{ end }}
{{- end }}
