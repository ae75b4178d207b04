import { useState } from 'preact/hooks';
import type { Usage, UsageRow, UsageSums as Sums } from '../api-types.js';
import { dayText, numberText } from '../format.js';
import { Segments } from '../parts/fields.js';
import { Card, creditsText, Empty, Loaded } from '../parts/parts.js';
import { type Bar, Legend, Plot } from '../parts/plot.js';
import { type Column, Table } from '../parts/table.js';
import { useData } from '../use-data.js';
import { type By, MEDIA, mediaByDay, type Range, readUsage, usagePath } from './usage-data.js';

/** The figures that the plot shows. */
const METRICS = [
  { value: 'charged_credits', text: 'Credits', title: 'Charged credits' },
  { value: 'generations', text: 'Generations', title: 'Generations' },
] as const;
type Metric = (typeof METRICS)[number]['value'];

const BY_NAMES: Readonly<Record<By, string>> = { day: 'Day', model: 'Model', key: 'Key', modality: 'Media type' };

/** More bars than this would be too narrow to name; days are always all shown. */
const MAX_BARS = 12;

/** One plot and the table beneath it. */
export function UsageSums({ appId, by, range }: { appId: string; by: By; range: Range }) {
  const [metric, setMetric] = useState<Metric>('charged_credits');
  const usage = useData<Usage>(usagePath(appId, by === 'day' ? 'day_modality' : by, range), { load: readUsage });
  const name = METRICS.find(({ value }) => value === metric)?.title ?? '';
  const byName = `by ${BY_NAMES[by].toLowerCase()}`;
  return (
    <Card
      id="usage"
      title={`${name} ${byName}`}
      note={by === 'day' ? 'UTC days' : undefined}
      isFlush
      actions={
        <>
          {by === 'day' ? <Legend series={MEDIA} /> : null}
          <Segments label="Shown" value={metric} changed={setMetric} options={METRICS} />
        </>
      }
    >
      <Loaded data={usage} what="the usage" skeleton={<div class="skeleton plot-skeleton" />}>
        {({ usage: rows, total }) =>
          rows.length === 0 ? (
            <Empty icon="chart-column" title="No usage in these days" text="Choose other days, or create something." />
          ) : (
            <>
              <div class="body">
                <Plot
                  label={`${name} ${byName}`}
                  series={by === 'day' ? MEDIA : [{ name, look: 'series-1' }]}
                  bars={by === 'day' ? dayBars(rows, range, metric) : topBars(rows, by, metric)}
                  {...(metric === 'generations' ? {} : { text: creditsText })}
                />
                {by !== 'day' && rows.length > MAX_BARS ? (
                  <p class="tiny muted">{`The plot shows the first ${MAX_BARS}; the table shows all.`}</p>
                ) : null}
              </div>
              <div class="sums">
                <Table
                  labelledBy="usage"
                  scrolls={`Usage ${byName}`}
                  items={linesOf(rows, by)}
                  idOf={({ id }) => id}
                  columns={[
                    [BY_NAMES[by], ({ name: of }) => of],
                    ...SUMS.map(([title, of]): Column<Line> => [title, (line) => numberText(line[of]), 'number']),
                  ]}
                  total={{ ...total, id: 'total', name: 'Total' }}
                />
              </div>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

const shortDays = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

function dayBars(rows: readonly UsageRow[], range: Range, metric: Metric): readonly Bar[] {
  return mediaByDay(rows, range, metric).map(({ day, values }) => ({
    name: shortDays.format(new Date(day)),
    title: `${dayText(day)}, UTC`,
    values,
  }));
}

const MAX_NAME = 14;

function topBars(rows: readonly UsageRow[], by: By, metric: Metric): readonly Bar[] {
  const top = rows.toSorted((a, b) => b[metric] - a[metric]).slice(0, MAX_BARS);
  return top.map((row) => {
    const title = nameOf(row, by);
    const name = title.length > MAX_NAME ? `${title.slice(0, MAX_NAME - 1)}…` : title;
    return { name, title, values: [row[metric]] };
  });
}

const MEDIA_TEXTS = { image: 'Images', video: 'Videos', unknown: 'Unknown' } as const;

function nameOf(row: UsageRow, by: By): string {
  if (by === 'day') return row.day === undefined ? '' : dayText(row.day);
  if (by === 'model') return row.model_key ?? 'Without a model';
  if (by === 'modality') return MEDIA_TEXTS[row.modality ?? 'unknown'];
  return row.credential_name ?? row.credential_id ?? 'Without a key';
}

interface Line extends Sums {
  readonly id: string;
  readonly name: string;
}

const SUMS = [
  ['Generations', 'generations'],
  ['Failed', 'failed'],
  ['Reserved', 'reserved_credits'],
  ['Charged', 'charged_credits'],
  ['Released', 'released_credits'],
] as const satisfies readonly (readonly [string, keyof Sums])[];

/** The lines of the table. Those of one day are added up. */
function linesOf(rows: readonly UsageRow[], by: By): readonly Line[] {
  const known = new Map<string, Line>();
  for (const row of rows) {
    const id = row.day ?? row.model_key ?? row.credential_id ?? row.modality ?? '';
    const before = known.get(id);
    const sums = before && Object.fromEntries(SUMS.map(([, of]) => [of, before[of] + row[of]]));
    known.set(id, { ...row, ...sums, id, name: nameOf(row, by) });
  }
  const lines = [...known.values()];
  return by === 'day' ? lines.toReversed() : lines.toSorted((a, b) => b.charged_credits - a.charged_credits);
}
