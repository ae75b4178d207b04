/**
 * Goal: docs/operating/metrics.md has every metric with its type and labels, and no other.
 * Method: read the page's tables and compare them with a registry, both ways.
 */
import { expect } from 'chai';
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
});
