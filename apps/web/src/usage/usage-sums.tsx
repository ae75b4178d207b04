import { useState } from 'preact/hooks';
import { ChartColumn } from 'lucide-preact';
import type { Usage, UsageRow, UsageSums as Sums } from '../api-types.js';
import { dayText, numberText } from '../format.js';
import { Segments } from '../parts/fields.js';
import { Card, Empty, Loaded } from '../parts/parts.js';
import { type Bar, Legend, Plot } from '../parts/plot.js';
import { currency } from '../session.js';
import { useData } from '../use-data.js';
import { type By, MEDIA, mediaByDay, type Range, readUsage, usagePath } from './usage-data.js';

interface UsageSumsProps {
  readonly appId: string;
  readonly by: By;
  readonly range: Range;
}

type Metric = 'charged' | 'generations';

/** One plot and the table beneath it. */
export function UsageSums({ appId, by, range }: UsageSumsProps) {
  const [metric, setMetric] = useState<Metric>('charged');
  const usage = useData<Usage>(usagePath(appId, by === 'day' ? 'day_modality' : by, range), { load: readUsage });
  const title = metric === 'charged' ? 'Charged credits' : 'Generations';
  const series = by === 'day' ? MEDIA : [{ name: title, look: 'series-1' as const }];
  return (
    <Card
      id="usage"
      title={`${title} by ${BY_NAMES[by]}`}
      note={by === 'day' ? 'UTC days' : undefined}
      isFlush
      actions={
        <>
          {by === 'day' ? <Legend series={MEDIA} /> : null}
          <Segments
            label="Shown"
            value={metric}
            changed={setMetric}
            options={[
              { value: 'charged', text: 'Credits' },
              { value: 'generations', text: 'Generations' },
            ]}
          />
        </>
      }
    >
      <Loaded data={usage} what="the usage" skeleton={<div class="skeleton plot-skeleton" />}>
        {({ usage: rows, total }) =>
          rows.length === 0 ? (
            <Empty icon={ChartColumn} title="No usage in these days" text="Choose other days, or create something." />
          ) : (
            <>
              <div class="body">
                <Plot
                  label={`${title} by ${BY_NAMES[by]}`}
                  series={series}
                  bars={by === 'day' ? dayBars(rows, range, metric) : topBars(rows, by, metric)}
                  {...(metric === 'charged' ? { unit: currency.value } : {})}
                />
                {by !== 'day' && rows.length > MAX_BARS ? (
                  <p class="tiny muted">{`The plot shows the first ${MAX_BARS}; the table shows all.`}</p>
                ) : null}
              </div>
              <SumsTable rows={rowsOf(rows, by)} head={BY_TITLES[by]} total={total} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

const BY_NAMES: Readonly<Record<By, string>> = { day: 'day', model: 'model', key: 'key', modality: 'media type' };
const BY_TITLES: Readonly<Record<By, string>> = { day: 'Day', model: 'Model', key: 'Key', modality: 'Media type' };
/** More bars than this would be too narrow to name; days are always all shown. */
const MAX_BARS = 12;

function dayBars(rows: readonly UsageRow[], range: Range, metric: Metric): readonly Bar[] {
  return mediaByDay(rows, range).map((one) => ({
    name: shortDay(one.day),
    title: `${dayText(one.day)}, UTC`,
    values: one[metric],
  }));
}

const shortDays = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

function shortDay(day: string): string {
  return shortDays.format(new Date(day));
}

function topBars(rows: readonly UsageRow[], by: By, metric: Metric): readonly Bar[] {
  const of = metric === 'charged' ? 'charged_credits' : 'generations';
  return rows
    .toSorted((a, b) => b[of] - a[of])
    .slice(0, MAX_BARS)
    .map((row) => ({ name: shortened(nameOf(row, by)), title: nameOf(row, by), values: [row[of]] }));
}

const MAX_NAME = 14;

function shortened(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name;
}

const MEDIA_TEXTS = { image: 'Images', video: 'Videos', unknown: 'Unknown' } as const;

function nameOf(row: UsageRow, by: By): string {
  if (by === 'day') return row.day === undefined ? '' : dayText(row.day);
  if (by === 'model') return row.model_key ?? 'Without a model';
  if (by === 'modality') return MEDIA_TEXTS[row.modality ?? 'unknown'];
  return row.credential_name ?? row.credential_id ?? 'Without a key';
}

interface NamedSums {
  readonly name: string;
  readonly sums: Sums;
}

/** The lines of the table. Those of one day are added up. */
function rowsOf(rows: readonly UsageRow[], by: By): readonly NamedSums[] {
  const named = new Map<string, Sums>();
  for (const row of rows) {
    const name = nameOf(row, by);
    const before = named.get(name);
    named.set(name, before === undefined || by !== 'day' ? row : added(before, row));
  }
  const lines = [...named].map(([name, sums]) => ({ name, sums }));
  return by === 'day' ? lines.toReversed() : lines.toSorted((a, b) => b.sums.charged_credits - a.sums.charged_credits);
}

const COLUMNS = [
  ['Generations', 'generations'],
  ['Failed', 'failed'],
  ['Reserved', 'reserved_credits'],
  ['Charged', 'charged_credits'],
  ['Released', 'released_credits'],
] as const satisfies readonly (readonly [string, keyof Sums])[];

function added(a: Sums, b: Sums): Sums {
  return Object.fromEntries(COLUMNS.map(([, of]) => [of, a[of] + b[of]])) as unknown as Sums;
}

interface SumsTableProps {
  readonly rows: readonly NamedSums[];
  readonly head: string;
  readonly total: Sums;
}

function SumsTable({ rows, head, total }: SumsTableProps) {
  const cells = (sums: Sums) =>
    COLUMNS.map(([title, of]) => (
      <td key={title} class="number">
        {numberText(sums[of])}
      </td>
    ));
  return (
    // What scrolls must be reachable without a pointer.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section class="scroll-x sums" tabIndex={0} aria-label={`Usage by ${head.toLowerCase()}`}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{head}</th>
            {COLUMNS.map(([title]) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, sums }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {cells(sums)}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            {cells(total)}
          </tr>
        </tfoot>
      </table>
    </section>
  );
}
