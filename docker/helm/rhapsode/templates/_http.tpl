{{/* How many answer, by their CPU: (list $ "api" .Values.api) */}}
{{- define "rhapsode.autoscaler" }}
{{- $root := index . 0 }}{{ $component := index . 1 }}{{ $values := index . 2 }}
{{- $name := printf "%s-%s" (include "rhapsode.name" $root) $component }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels: {{- include "rhapsode.labels" (list $root $component) | nindent 4 }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ $name }}}
  minReplicas: {{ $values.replicas }}
  maxReplicas: {{ max $values.maxReplicas $values.replicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: {type: Utilization, averageUtilization: {{ $values.targetCpuPercent }}}
{{- end }}

{{/* Their way in from outside: (list $ "api" .Values.api.ingress) */}}
{{- define "rhapsode.ingress" }}
{{- $root := index . 0 }}{{ $component := index . 1 }}{{ $ingress := index . 2 }}
{{- $name := printf "%s-%s" (include "rhapsode.name" $root) $component }}
{{- if $ingress.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ $name }}
  labels: {{- include "rhapsode.labels" (list $root $component) | nindent 4 }}
  {{- with $ingress.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with $ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with $ingress.tlsSecret }}
  tls:
    - {hosts: [{{ $ingress.host }}], secretName: {{ . }}}
  {{- end }}
  rules:
    - host: {{ required (printf "%s.ingress.host must be set" $component) $ingress.host }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: {service: {name: {{ $name }}, port: {name: http}}}
{{- end }}
{{- end }}
