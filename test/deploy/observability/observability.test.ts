/**
 * Goal: the alerts, the dashboard and the KEDA example query metrics and labels that the program has, each alert leads to
 * a page that explains it, and Prometheus' own tool accepts names, rules and their unit tests.
 * Method: names and labels are read out of each query and compared with the registry; promtool runs where it is
 * installed.
 */
import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { Metrics } from '../../../apps/metrics/metrics.js';
import { readPage, ROOT } from '../../docs/pages.js';
import { findProgram } from '../../servers/find-program.js';
import { PROGRAMS } from '../../servers/programs.js';
import { orSkip, ServerAbsent } from '../../servers/server-absent.js';

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<'summary' | 'runbook' | 'docs', string>>;
}

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly gridPos: Readonly<Record<'h' | 'w' | 'x' | 'y', number>>;
  readonly targets?: readonly { readonly expr: string }[];
}

interface RuleTest {
  readonly alert_rule_test?: readonly { readonly alertname: string; readonly exp_alerts?: readonly object[] }[];
  readonly promql_expr_test?: readonly { readonly expr: string }[];
}

const RULE_TESTS = 'test/deploy/observability/alerts.yaml';
/** The labels that Prometheus and its operator add, and the one of a histogram's buckets. */
const TARGET_LABELS = ['job', 'instance', 'namespace', 'le'];

const known = new Metrics().registry.getMetricsAsArray() as unknown as readonly Metric[];
const textOf = (name: string): string => readFileSync(join(ROOT, 'deploy/observability', name), 'utf8');
const inOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const { groups } = parse(textOf('alerts.yaml')) as { readonly groups: readonly { readonly rules: readonly Alert[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);
const { panels } = JSON.parse(textOf('dashboard.json')) as { readonly panels: readonly Panel[] };
const { spec } = parse(textOf('keda-scaled-object.yaml')) as {
  readonly spec: { readonly triggers: readonly [{ readonly metadata: Readonly<Record<string, string>> }] };
};
const scaling = spec.triggers[0].metadata;
const { tests } = parse(readFileSync(join(ROOT, RULE_TESTS), 'utf8')) as { readonly tests: readonly RuleTest[] };

const QUERIES: readonly (readonly [place: string, expr: string])[] = [
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [`panel ${title}`, expr] as const)),
  ['KEDA', scaling['query'] ?? ''],
];

/** The metric of a series; those of a histogram have a suffix. */
function metricOf(series: string): Metric | undefined {
  return known.find(
    ({ name, type }) =>
      name === series || (type === 'histogram' && series.replace(/_(bucket|sum|count)$/, '') === name),
  );
}

describe('deploy/observability', () => {
  it('queries metrics that the program has, by labels that they have', () => {
    for (const [place, expr] of QUERIES) {
      const series = [...expr.matchAll(/\b((?:darkroom|process|nodejs)_[a-z_]+)(?:\{([^}]*)\})?/g)];
      expect(series, place).not.to.have.length(0);
      const labels = series.flatMap(([, name = '', selector = '']) => {
        const metric = metricOf(name);
        expect(metric, `${place}: ${name}`).not.to.equal(undefined);
        for (const [, label] of selector.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g))
          expect([...TARGET_LABELS, ...(metric?.labelNames ?? [])], `${place}: ${name}`).to.include(label);
        return metric?.labelNames ?? [];
      });
      for (const [, list = ''] of expr.matchAll(/\b(?:by|on|without) \(([^)]*)\)/g))
        for (const label of list.split(', ')) expect([...TARGET_LABELS, ...labels], place).to.include(label);
    }
  });

  it('has a runbook line for each alert, and a heading of the documentation that explains it', () => {
    expect(alerts).to.have.length.greaterThan(9);
    for (const { alert, annotations } of alerts) {
      for (const line of [annotations.summary, annotations.runbook]) expect(line, alert).to.match(/^[A-Z].*\.$/);
      const [path = '', anchor = ''] = annotations.docs.split('#');
      expect(
        readPage(path).headings.map((heading) => heading.anchor),
        `${alert}: ${annotations.docs}`,
      ).to.include(anchor);
    }
  });

  it('has a test in which each alert fires, and one in which it does not', () => {
    const cases = tests.flatMap((test) => test.alert_rule_test ?? []);
    for (const { alert } of alerts) {
      const own = cases.filter(({ alertname }) => alertname === alert);
      expect(
        own.some(({ exp_alerts: expected }) => expected !== undefined),
        alert,
      ).to.equal(true);
      expect(
        own.some(({ exp_alerts: expected }) => expected === undefined),
        alert,
      ).to.equal(true);
    }
  });

  it('scales by the query whose results are tested, and the dashboard draws the same', () => {
    const query = inOneLine(scaling['query'] ?? '');
    const tested = tests.flatMap((test) => test.promql_expr_test ?? []).map(({ expr }) => expr);
    expect(tested.length).to.be.greaterThan(3);
    for (const expr of tested) expect(expr).to.equal(query);
    const drawn = QUERIES.map(([, expr]) => expr.replaceAll('job=~"$job"', 'namespace="darkroom"'));
    expect(drawn).to.include(query.replaceAll('( ', '(').replaceAll(' )', ')'));
  });

  it('has panels that do not overlap, each with a query', () => {
    const cells = new Map<string, string>();
    for (const { type, title, gridPos, targets = [] } of panels) {
      if (type !== 'row') expect(targets, title).not.to.have.length(0);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(x, title).to.be.lessThan(24);
          expect(cells.get(`${x} ${y}`), title).to.equal(undefined);
          cells.set(`${x} ${y}`, title);
        }
    }
  });
});

/** One sample for each metric: promtool ignores those without. */
function exposition(metrics: readonly Metric[]): string {
  return metrics
    .flatMap(({ name, help, type, labelNames }) => {
      const labels = labelNames.map((label) => `${label}="x"`);
      const sample = (suffix = '', more: readonly string[] = []) =>
        `${name}${suffix}{${[...labels, ...more].join()}} 1`;
      const samples =
        type === 'histogram' ? [sample('_bucket', ['le="+Inf"']), sample('_sum'), sample('_count')] : [sample()];
      return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples];
    })
    .map((line) => `${line}\n`)
    .join('');
}

describe('promtool', () => {
  let path: string;
  before(async function find() {
    const found = findProgram(PROGRAMS.promtool);
    const absent = new ServerAbsent('promtool is not on this machine; `npm run servers:install` gets it.');
    path = (await orSkip(this, found ? Promise.resolve(found) : Promise.reject(absent))).path;
  });

  function run(args: readonly string[], input = ''): { readonly code: number | null; readonly text: string } {
    const { status, stdout, stderr } = spawnSync(path, args, { cwd: ROOT, input, encoding: 'utf8' });
    return { code: status, text: stdout + stderr };
  }

  it('accepts the name and the help of every metric, and rejects those of another', () => {
    expect(run(['check', 'metrics'], exposition(known))).to.deep.equal({ code: 0, text: '' });
    const other = { name: 'darkroom_wait_ms', help: 'A wait.', type: 'counter', labelNames: [] };
    const { code, text } = run(['check', 'metrics'], exposition([...known, other]));
    expect([code, text]).to.deep.equal([3, text]);
    expect(text).to.include('darkroom_wait_ms');
  });

  it('accepts the rules, and the configuration that loads them', () => {
    for (const args of [
      ['check', 'rules', 'deploy/observability/alerts.yaml'],
      ['check', 'config', 'deploy/observability/prometheus.yaml'],
    ]) {
      const { code, text } = run(args);
      expect(code, text).to.equal(0);
    }
  });

  it('sees each alert fire for its cause, and none without', () => {
    const { code, text } = run(['test', 'rules', RULE_TESTS]);
    expect(code, text).to.equal(0);
  });
});
