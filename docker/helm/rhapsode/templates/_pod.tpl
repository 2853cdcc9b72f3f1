{{/* What every pod has; nothing of it may become root or write below /. */}}
{{- define "rhapsode.pod" -}}
serviceAccountName: {{ include "rhapsode.name" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "rhapsode.container" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* Settings of every process; secrets come as files. A process that starts again in its pod takes back by its name
     what it held. */}}
{{- define "rhapsode.env" -}}
- {name: RHAPSODE_REDIS_URL_FILE, value: /run/rhapsode/redis_url}
- {name: RHAPSODE_WEBHOOK_KEY_FILE, value: /run/rhapsode/webhook_key}
- {name: RHAPSODE_STORE, value: {{ required "store.url must name a bucket" .Values.store.url | quote }}}
{{- with .Values.store.endpoint }}
- {name: RHAPSODE_S3_ENDPOINT_URL, value: {{ . | quote }}}
{{- end }}
{{- with .Values.store.publicEndpoint }}
- {name: RHAPSODE_S3_PUBLIC_ENDPOINT, value: {{ . | quote }}}
{{- end }}
{{- with .Values.store.region }}
- {name: RHAPSODE_S3_REGION, value: {{ . | quote }}}
{{- end }}
{{- if .Values.secrets.hasS3Credentials }}
- {name: AWS_SHARED_CREDENTIALS_FILE, value: /run/rhapsode/s3_credentials}
{{- end }}
{{- include "rhapsode.given-env" . }}
{{- end }}

{{- define "rhapsode.given-env" -}}
{{- range $name, $value := .Values.env }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{- define "rhapsode.worker-env" -}}
- {name: RHAPSODE_METRICS_PORT, value: "0.0.0.0:9101"}
{{- end }}

{{- define "rhapsode.worker-name" -}}
- name: RHAPSODE_WORKER_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- end }}

{{/* Files of the Secret: (list $ "redis_url" "webhook_key") */}}
{{- define "rhapsode.secret-volume" -}}
{{- $root := index . 0 -}}
- name: secrets
  secret:
    secretName: {{ include "rhapsode.secret" $root }}
    defaultMode: 0440
    items:
    {{- range rest . }}
      - {key: {{ . }}, path: {{ . }}}
    {{- end }}
    {{- if $root.Values.secrets.hasS3Credentials }}
      - {key: s3_credentials, path: s3_credentials}
    {{- end }}
{{- end }}

{{/* A new Secret of this chart's own starts the pods anew. */}}
{{- define "rhapsode.checksum" -}}
checksum/secrets: {{ .Values.secrets.create | toJson | sha256sum }}
{{- end }}

{{- define "rhapsode.worker-probes" -}}
# A start loads the model. Of what stalls the process itself thinks: it ends, and is started again.
startupProbe:
  httpGet: {path: /metrics, port: metrics}
  periodSeconds: 5
  failureThreshold: 120
{{ include "rhapsode.worker-liveness" . }}
{{- end }}

{{- define "rhapsode.worker-liveness" -}}
livenessProbe:
  httpGet: {path: /metrics, port: metrics}
  periodSeconds: 20
  timeoutSeconds: 10
  failureThreshold: 6
{{- end }}
