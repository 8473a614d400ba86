{{- /* Name of the ConfigMap with gateway.yaml, with a hash of the content: a change is a rollout, and old pods keep the old one. */}}
{{- define "gateway.configName" -}}
{{ .Release.Name }}-{{ toYaml .Values.config | sha256sum | trunc 10 }}
{{- end }}
