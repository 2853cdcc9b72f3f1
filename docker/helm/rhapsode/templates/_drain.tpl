{{/* Before SIGTERM a worker gets so many seconds to finish what it holds: claims nothing more, and waits. */}}
{{- define "rhapsode.drain" -}}
lifecycle:
  preStop: {exec: {command: [python, -m, worker.process.drain, --wait, {{ . | quote }}]}}
{{- end }}
