/**
 * Goal: docs/operating/metrics.md has every metric with its type and labels, and no other; its alerts ask for metrics that are
 * there. Method: read the page's tables and compare them with a registry, both ways; read names and labels out of the
 * alerts.
 */
import { expect } from 'chai';
import { parse } from 'yaml';
import { Metrics } from '../../apps/metrics/metrics.js';
import { codeSpans, plain, readPage, type Table, tablesOf } from './pages.js';

interface Known {
  readonly name: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

const page = readPage('docs/operating/metrics.md');
const known = new Metrics().registry.getMetricsAsArray() as unknown as readonly Known[];
const ofProcess = ({ name }: Known): boolean => /^(process_|nodejs_|darkroom_event_loop_)/.test(name);
const own = known.filter((metric) => !ofProcess(metric));

function tableOf(column: string): Table {
  const [table] = tablesOf(page).filter(({ columns }) => columns[0] === column);
  if (!table) throw new Error(`There is no table of ${column}.`);
  return table;
}

const spans = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);

describe('metrics in docs/operating/metrics.md', () => {
  it('are those of the registry, with type and labels', () => {
    const documented = tableOf('Metric').rows.map(
      ([name, type, labels]) => `${plain(name)}: ${type} of ${spans(labels).join(', ')}`,
    );
    expect(documented.sort()).to.deep.equal(
      own.map(({ name, type, labelNames }) => `${name}: ${type} of ${labelNames.join(', ')}`).sort(),
    );
  });

  it('say of each what it means and what is normal', () => {
    const table = tableOf('Metric');
    expect(
      table.rows.filter((row) => row.length !== table.columns.length || row[3] === '' || row[4] === ''),
    ).to.deep.equal([]);
  });

  it('include those of the process', () => {
    const documented = tableOf('Process metric').rows.map(([name, type]) => `${plain(name)}: ${type}`);
    expect(documented.sort()).to.deep.equal(
      known
        .filter(ofProcess)
        .map(({ name, type }) => `${name}: ${type}`)
        .sort(),
    );
  });

  it('are named as they are everywhere on the page', () => {
    const names = codeSpans(page).filter((span) => /^(darkroom|nodejs|process)_[a-z0-9_]+$/.test(span));
    expect(names.filter((name) => !known.some((metric) => metric.name === name))).to.deep.equal([]);
  });

  const rules = page.blocks
    .filter(({ info }) => info === 'yaml')
    .map(({ text }) => text)
    .join('\n');

  it('have alerts that can be read, each with a name and an expression on lines of their own', () => {
    const { groups } = parse(rules) as { readonly groups: readonly { readonly rules: readonly object[] }[] };
    const alerts = groups.flatMap((group) => group.rules);
    expect(alerts).to.have.length.greaterThan(5);
    for (const alert of alerts) expect(Object.keys(alert).slice(0, 2)).to.deep.equal(['alert', 'expr']);
  });

  it('are what the alerts ask for, by labels that they have', () => {
    const asked = [...rules.matchAll(/\b(darkroom_[a-z_]+)(?:\{([a-z]+)[=!~]+)?/g)];
    expect(asked).to.have.length.greaterThan(5);
    for (const [, name = '', label] of asked) {
      const metric = own.find(
        (one) =>
          one.name === name || (one.type === 'histogram' && name.replace(/_(bucket|sum|count)$/, '') === one.name),
      );
      expect(metric, name).to.not.equal(undefined);
      if (label !== undefined) expect(metric?.labelNames, name).to.include(label);
    }
    for (const name of rules.matchAll(/\bby \(([a-z, ]+)\)/g))
      for (const label of (name[1] ?? '').split(', '))
        expect(['le', ...own.flatMap(({ labelNames }) => labelNames)]).to.include(label);
  });
});
