{{/* The name of what belongs to this release. */}}
{{- define "svcctl.name" -}}
{{ ternary .Release.Name (printf "%s-svcctl" .Release.Name) (contains "svcctl" .Release.Name) | trunc 45 | trimSuffix "-" }}
{{- end }}

{{/* What all of it is labelled with. */}}
{{- define "svcctl.labels" -}}
app.kubernetes.io/name: svcctl
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The variables of a pod: those of its kind go before those of all. */}}
{{- define "svcctl.env" -}}
{{- $values := .root.Values }}
{{- $own := dict "SVC_ROLES" (join "," .set.roles) "SVC_METRICS_PORT" "9464" "SVC_METRICS_HOST" "0.0.0.0" }}
{{- $host := $values.ingress.host }}
{{- $origin := ternary (dict "SVC_PUBLIC_URL" (printf "https://%s" $host)) dict (ne $host "") }}
{{- toYaml (merge $own (.set.settings | default dict) $values.settings $origin) }}
{{- end }}

{{/* The template of a pod, given the root, the name and the values of its kind, and the command that it runs. */}}
{{- define "svcctl.pod" -}}
{{- $values := .root.Values }}
{{- $env := include "svcctl.env" . | fromYaml }}
{{- $disk := (.set.persistence | default dict).size }}
metadata:
  labels:
    {{- include "svcctl.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
    svcctl/api: {{ has "api" .set.roles | quote }}
  {{- if eq .command "serve" }}
  annotations:
    prometheus.io/scrape: "true"
    prometheus.io/port: "9464"
  {{- end }}
spec:
  {{- with $values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  automountServiceAccountToken: false
  # Its first process then collects those whose parent has died.
  shareProcessNamespace: true
  terminationGracePeriodSeconds: {{ add (int $env.SVC_SHUTDOWN_LEAD_SECONDS) (int $env.SVC_SHUTDOWN_SECONDS) 40 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    # PostgreSQL refuses a folder that the group may write to, which is what every start would make of it otherwise.
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  containers:
    - name: svcctl
      image: "{{ $values.image.repository }}:{{ $values.image.tag | default .root.Chart.AppVersion }}"
      args: [{{ .command }}]
      env:
        {{- range $name, $value := $env }}
        - { name: {{ $name }}, value: {{ $value | toString | quote }} }
        {{- end }}
        {{- if not $disk }}
        # Without one of these a process would make a database, a store or a key of its own, and lose it with the pod.
        {{- range $name := list "DATABASE_URL" "SVC_BLOB_URL" "SVC_SECRET_KEY" }}
        - { name: {{ $name }}, valueFrom: { secretKeyRef: { name: {{ $values.existingSecret }}, key: {{ $name }} } } }
        {{- end }}
        {{- end }}
      {{- with $values.existingSecret }}
      envFrom: [{ secretRef: { name: {{ . }} } }]
      {{- end }}
      {{- if eq .command "serve" }}
      ports:
        - { name: http, containerPort: 8080 }
        - { name: metrics, containerPort: 9464 }
      # /healthz answers as soon as the process listens, while it still migrates or waits for the database, which it does
      # for ten minutes.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 5
        failureThreshold: 120
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      {{- end }}
      {{- with .set.resources }}
      resources: {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        {{- if $disk }}
        - { name: memory, mountPath: /dev/shm }
        {{- end }}
  volumes:
    - { name: tmp, emptyDir: {} }
    {{- if $disk }}
    # Parallel queries of PostgreSQL meet there.
    - { name: memory, emptyDir: { medium: Memory, sizeLimit: 256Mi } }
    {{- else }}
    - { name: data, emptyDir: {} }
    {{- end }}
  {{- with $values.pod }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
