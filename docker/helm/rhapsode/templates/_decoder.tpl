{{/* Name of a pool's decoders, which their Service has too: (list $ "pool") */}}
{{- define "rhapsode.decoders" -}}
{{- printf "%s-decoder-%s" (include "rhapsode.name" (index . 0)) (index . 1) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* An address, after rhapsode.decoder-token: (list "host" "device") */}}
{{- define "rhapsode.decoder" -}}
ws://:$(DECODER_TOKEN)@{{ index . 0 }}:7777/{{ regexFind "^[a-z]+" (index . 1) }}
{{- end }}

{{- define "rhapsode.decoder-token" -}}
{{- with .Values.secrets.create }}
{{- if lt (len (.decoder_token | default "")) 32 }}{{ fail "secrets.create.decoder_token must have 32 letters: a pool has decoders" }}{{ end }}
{{- end -}}
- name: DECODER_TOKEN
  valueFrom: {secretKeyRef: {name: {{ include "rhapsode.secret" . }}, key: decoder_token}}
{{- end }}
