{{/* The checkpoint of a pool's pods, its decoders' too: (list $ $worker "variant of the image") */}}
{{- define "rhapsode.fetch-checkpoint" -}}
{{- $root := index . 0 }}{{ $fetch := (index . 1).checkpoint.fetch | default dict -}}
{{- if $fetch.model -}}
initContainers:
  # Every file is held against the hub's digest of that commit: else the worker does not start.
  - name: fetch-checkpoint
    image: {{ include "rhapsode.image" (list $root "worker" (index . 2)) }}
    {{- include "rhapsode.container" $root | nindent 4 }}
    command: [rhapsode, models, pull]
    args: [{{ $fetch.model }}, --revision, {{ required "checkpoint.fetch.revision must be a commit" $fetch.revision | quote }}, --data-dir, /checkpoint]
    {{- with $root.Values.env }}
    env: {{- include "rhapsode.given-env" $root | nindent 6 }}
    {{- end }}
    resources:
      requests: {cpu: 500m, memory: 256Mi}
      limits: {memory: 512Mi}
    volumeMounts:
      - {name: tmp, mountPath: /tmp}
      - {name: checkpoint, mountPath: /checkpoint}
{{- end }}
{{- end }}

{{- define "rhapsode.checkpoint-env" -}}
{{- $fetch := .checkpoint.fetch | default dict -}}
{{- if or .checkpoint.claim $fetch.model -}}
- {name: RHAPSODE_CHECKPOINT, value: /checkpoint{{ with $fetch.model }}/models/{{ . }}{{ end }}}
{{- else -}}
- {name: RHAPSODE_CHECKPOINT, value: {{ .model | quote }}}
{{- end }}
{{- end }}

{{- define "rhapsode.checkpoint-mount" -}}
{{- if .checkpoint.claim }}
- {name: checkpoint, mountPath: /checkpoint, readOnly: true{{ with .checkpoint.subPath }}, subPath: {{ . | quote }}{{ end }}}
{{- else if (.checkpoint.fetch | default dict).model }}
- {name: checkpoint, mountPath: /checkpoint, readOnly: true}
{{- end }}
{{- end }}

{{- define "rhapsode.checkpoint-volume" -}}
{{- $fetch := .checkpoint.fetch | default dict -}}
{{- if .checkpoint.claim }}
- name: checkpoint
  persistentVolumeClaim: {claimName: {{ .checkpoint.claim }}, readOnly: true}
{{- else if $fetch.model }}
- name: checkpoint
  emptyDir: {sizeLimit: {{ $fetch.size | default "8Gi" }}}
{{- end }}
{{- end }}
