import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { roles, settingRows } from '../packages/server/src/config/setting-rows.ts';
import { loadSettings } from '../packages/server/src/config/settings.ts';
import { exportFigures } from '../packages/server/src/exports/figures.ts';
import { webhookFigures } from '../packages/server/src/webhooks/figures.ts';
import { dueStates } from '../packages/server/src/webhooks/values.ts';
import { root } from './program.mjs';

const chart = join(root, 'deploy', 'helm');
const read = (...names) => readFileSync(join(chart, ...names), 'utf8');
const values = parse(read('values.yaml'));
const one = parse(read('one.yaml'));
const adapter = parse(read('prometheus-adapter.yaml')).rules.external;
const templates = readdirSync(join(chart, 'templates')).map((name) => read('templates', name));
const known = Object.values(settingRows).map(({ env }) => env);
/** How long PostgreSQL may take to stop, after the service itself. */
const postgresSeconds = 35;

describe('the chart as it stands there', () => {
  test('is of the release of the package', () => {
    const { version } = JSON.parse(
      readFileSync(join(root, 'packages', 'server', 'package.json'), 'utf8'),
    );
    expect(parse(read('Chart.yaml'))).toMatchObject({ version, appVersion: version });
  });

  test('explains each of its values', () => {
    const lines = read('values.yaml').split('\n');
    const unexplained = lines.filter(
      (line, index) => /^\w+:/.test(line) && !/^#/.test(lines[index - 1] ?? ''),
    );
    expect(unexplained).toEqual([]);
    const words = [...read('values.yaml').matchAll(/^# {3}(\w+) {2}/gm)].map(([, word]) => word);
    const used = Object.values(values.processes).flatMap((kind) => Object.keys(kind));
    expect(new Set([...used, 'persistence'])).toEqual(new Set(['roles', ...words]));
  });

  test('knows no values but those, and each is used', () => {
    const used = templates.join('\n').matchAll(/(?:\.Values|\$values)\.(\w+)/g);
    expect(new Set([...used].map(([, name]) => name))).toEqual(new Set(Object.keys(values)));
    expect(Object.keys(one).filter((name) => !(name in values))).toEqual([]);
  });

  test('names only settings and roles that there are, and every role', () => {
    for (const { processes, settings = {} } of [values, one]) {
      const kinds = Object.values(processes).filter((kind) => kind !== null);
      expect(kinds.flatMap((kind) => kind.roles)).toHaveLength(roles.length);
      expect(new Set(kinds.flatMap((kind) => kind.roles))).toEqual(new Set(roles));
      for (const kind of kinds) {
        const env = { ...settings, ...kind.settings, SVC_ROLES: kind.roles.join(',') };
        expect(loadSettings(env).roles).toEqual(kind.roles);
      }
    }
    const named = [...templates, read('values.yaml')]
      .join('\n')
      .match(/\bSVC_[A-Z_]+|DATABASE_URL/g);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  test('asks paths that the service answers, on ports that it listens on', () => {
    const pod = read('templates', '_pod.tpl');
    const all = (pattern) => [...pod.matchAll(pattern)].map(([, found]) => found);
    expect(all(/httpGet: \{ path: (\S+), port: http \}/g)).toEqual([
      ...['/healthz', '/healthz', '/readyz'],
    ]);
    const routes = join(root, 'packages', 'server', 'src', 'platform', 'http', 'origin-routes.ts');
    for (const path of ['/healthz', '/readyz']) {
      expect(readFileSync(routes, 'utf8')).toContain(`fastify.get('${path}'`);
    }
    const [, metricsPort] = /"SVC_METRICS_PORT" "(\d+)"/.exec(pod) ?? [];
    expect(all(/containerPort: (\d+)/g)).toEqual([String(loadSettings({}).port), metricsPort]);
  });

  test('scales by metrics that a service tells, in states that there are', () => {
    const gauges = { ...exportFigures.gauges, ...webhookFigures.gauges };
    for (const { seriesQuery, metricsQuery } of adapter) {
      expect(Object.keys(gauges)).toContain(seriesQuery);
      expect(metricsQuery.match(/svcctl_\w+/g)).toEqual([seriesQuery]);
      expect(metricsQuery).toContain('<<.LabelMatchers>>');
    }
    const doc = readFileSync(join(root, 'docs', 'operations', 'kubernetes.md'), 'utf8');
    for (const { name, metricsQuery } of adapter) {
      const expression = metricsQuery.replace(/,?<<.LabelMatchers>>/, '').replace('{}', '');
      expect(doc).toContain(`| \`${name.as}\` | \`${expression}\` |`);
    }
    expect(adapter[0].metricsQuery).toContain(`state="${dueStates[0]}"`);
  });
});

/** The program that a variable names, or the one on the PATH; undefined where there is none. */
function find(variable, name) {
  const program = process.env[variable] ?? name;
  const { error } = spawnSync(program, ['version']);
  if (error !== undefined && process.env[variable] !== undefined) throw error;
  return error === undefined ? program : undefined;
}

const helm = find('SVC_TEST_HELM', 'helm');
const kubeconform = find('SVC_TEST_KUBECONFORM', 'kubeconform');
/** Where the schemas of Kubernetes are, as kubeconform takes it: it would look for them in the network. */
const schemas = process.env.SVC_TEST_KUBE_SCHEMAS;
const hasSchemas = kubeconform !== undefined && schemas !== undefined;
/** Without a cluster, helm that was built from its sources takes an older one. */
const kubernetes = '1.30.0';
const grown = {
  image: { repository: 'registry.example/svcctl', tag: '9', pullSecrets: ['registry'] },
  ingress: { host: 'svcctl.example' },
  pod: { nodeSelector: { disk: 'fast' } },
  processes: {
    api: { autoscale: { max: 6, metric: 'cpu', target: 70 } },
    drainer: { autoscale: { max: 4, metric: 'svcctl_webhooks_ready', target: 1000 } },
    exports: { autoscale: { max: 4, metric: 'svcctl_export_jobs_open', target: 2 } },
  },
};

/** Tests of what only a program can say that is not everywhere; the last test tells which were not made. */
const whereHelmIs = helm === undefined ? () => {} : describe;

whereHelmIs('the chart as helm renders it', () => {
  const cases = { usual: {}, grown, one };

  test('has no fault that helm knows', () => {
    for (const given of [{}, one]) {
      const { status, stdout } = spawnSync(
        helm,
        ['lint', '--strict', '--kube-version', kubernetes, chart, '--values', '-'],
        { input: JSON.stringify(given), encoding: 'utf8' },
      );
      expect({ status, stdout }).toEqual({ status: 0, stdout: expect.any(String) });
    }
  });

  test.each(Object.keys(cases))('%s: gives each pod settings that a service takes', (name) => {
    const { pods } = render(cases[name]);
    expect(pods.length).toBeGreaterThan(0);
    for (const { spec } of pods) {
      const [{ env, envFrom, args }] = spec.containers;
      const given = env.filter(({ value }) => value !== undefined);
      const settings = loadSettings(
        Object.fromEntries(given.map(({ name, value }) => [name, value])),
      );
      expect(settings.metricsHost).toBe('0.0.0.0');
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(
        settings.shutdownLeadSeconds + settings.shutdownSeconds + postgresSeconds,
      );
      const secret = env.filter(({ valueFrom }) => valueFrom !== undefined).map(({ name }) => name);
      const needed = ['DATABASE_URL', 'SVC_BLOB_URL', 'SVC_SECRET_KEY'];
      expect(secret).toEqual(name === 'one' ? [] : needed);
      expect(envFrom?.[0].secretRef.name).toBe(name === 'one' ? undefined : 'svcctl');
      expect(['serve', 'migrate']).toContain(args[0]);
      expect(settings.publicUrl).toBe(name === 'grown' ? 'https://svcctl.example' : undefined);
    }
  });

  test.each(Object.keys(cases))('%s: probes ports that a service listens on', (name) => {
    const serving = render(cases[name]).pods.filter(({ spec }) => spec.containers[0].ports);
    for (const { spec } of serving) {
      const [{ ports, startupProbe, livenessProbe, readinessProbe }] = spec.containers;
      const { port, metricsPort } = loadSettings({ SVC_METRICS_PORT: '9464' });
      expect(ports.map(({ containerPort }) => containerPort)).toEqual([port, metricsPort]);
      const paths = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet);
      expect(paths).toEqual([
        { path: '/healthz', port: 'http' },
        { path: '/healthz', port: 'http' },
        { path: '/readyz', port: 'http' },
      ]);
      expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBeGreaterThanOrEqual(
        600,
      );
    }
  });

  test.each(Object.keys(cases))('%s: each selector finds the pods it means', (name) => {
    const { all, pods, of } = render(cases[name]);
    const found = (labels) =>
      pods.filter(({ metadata }) =>
        Object.entries(labels).every(([label, value]) => metadata.labels[label] === value),
      );
    for (const workload of [...of('Deployment'), ...of('StatefulSet')]) {
      expect(found(workload.spec.selector.matchLabels)).toEqual([workload.spec.template]);
      const budgets = of('PodDisruptionBudget').filter(
        ({ metadata }) => metadata.name === workload.metadata.name,
      );
      expect(budgets.map(({ spec }) => spec)).toEqual([
        { maxUnavailable: 1, selector: workload.spec.selector },
      ]);
    }
    const [service] = of('Service');
    const callers = found(service.spec.selector).map(
      ({ spec }) => spec.containers[0].env.find((row) => row.name === 'SVC_ROLES').value,
    );
    expect(callers).toEqual([name === 'one' ? roles.join(',') : 'api']);
    const names = all.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  test('only what has its data on a disk is a StatefulSet, and the job migrates before the others', () => {
    const usual = render(cases.usual);
    expect(usual.of('StatefulSet')).toEqual([]);
    expect(usual.of('Deployment')).toHaveLength(roles.length);
    const [job] = usual.of('Job');
    expect(job.metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    expect(job.spec.template.spec.containers[0].args).toEqual(['migrate']);
    const single = render(one);
    expect(single.all.map(({ kind }) => kind).toSorted()).toEqual([
      'PodDisruptionBudget',
      'Service',
      'StatefulSet',
    ]);
    const [{ spec }] = single.of('StatefulSet');
    expect(spec.volumeClaimTemplates[0].metadata.name).toBe('data');
  });

  test('scales what has autoscale, by metrics that the adapter makes', () => {
    const scaled = render(grown).of('HorizontalPodAutoscaler');
    const made = adapter.map(({ name }) => name.as);
    const metrics = scaled.flatMap(({ spec }) => spec.metrics);
    expect(metrics.map(({ external }) => external?.metric.name ?? 'cpu')).toEqual(['cpu', ...made]);
    const workloads = new Map(render(grown).all.map((one) => [one.metadata.name, one]));
    for (const { spec } of scaled) {
      expect(spec.minReplicas).toBe(2);
      expect(workloads.get(spec.scaleTargetRef.name).spec.replicas).toBeUndefined();
    }
  });

  test('refuses two pods on one disk, and a pod that has neither disk nor database', () => {
    const disk = { persistence: { size: '1Gi' } };
    expect(refusalOf({ processes: { api: disk } })).toContain('runs alone');
    expect(refusalOf({ existingSecret: '' })).toContain('needs DATABASE_URL');
  });

  test.each(hasSchemas ? Object.keys(cases) : [])('%s: is what Kubernetes takes', (name) => {
    const { status, stdout } = spawnSync(
      kubeconform,
      ['-strict', '-summary', '-schema-location', schemas, '-'],
      { input: render(cases[name]).text, encoding: 'utf8' },
    );
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining('Invalid: 0'),
    });
  });
});

test('what could not be tried is told', () => {
  if (helm === undefined) console.warn('helm is not there, so the chart was not rendered.');
  if (!hasSchemas)
    console.warn('Without kubeconform and SVC_TEST_KUBE_SCHEMAS no schema was asked.');
});

const rendered = new Map();
/** What helm makes of the chart with these values. */
function render(given) {
  if (!rendered.has(given)) rendered.set(given, renderAnew(given));
  return rendered.get(given);
}

function renderAnew(given) {
  const { status, stdout, stderr } = template(given);
  if (status !== 0) throw new Error(stderr);
  const all = parseAllDocuments(stdout)
    .map((document) => document.toJS())
    .filter((document) => document !== null);
  const pods = all.flatMap(({ spec }) => spec.template ?? []);
  const of = (kind) => all.filter((one) => one.kind === kind);
  return { text: stdout, all, pods, of };
}

function refusalOf(given) {
  const { status, stderr } = template(given);
  expect(status).toBe(1);
  return stderr;
}

function template(given) {
  const args = ['template', 'svcctl', chart, '--kube-version', kubernetes, '--values', '-'];
  return spawnSync(helm, args, { input: JSON.stringify(given), encoding: 'utf8' });
}
