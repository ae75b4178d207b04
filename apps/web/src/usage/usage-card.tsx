import { useMemo } from 'preact/hooks';
import { announce } from '../parts/toasts.js';
import { type Usage, USAGE_BY, type UsageBy, type UsageRow, type UsageSums } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { dayText, numberText } from '../format.js';
import { saveAs } from '../media/shown-output.js';
import { ActionButton } from '../parts/buttons.js';
import { Card, Choice, Loaded } from '../parts/parts.js';
import { changeQuery, place } from '../places.js';
import { addressOf, read } from '../server.js';
import { useData } from '../use-data.js';
import { Plot, type Series } from '../parts/plot.js';

const DAY_MS = 86_400_000;

/** A range of UTC days, both in it. */
export interface Range {
  readonly from: string;
  readonly to: string;
}

export const USUAL_DAYS = 31;

/** The days up to today. */
function lastDays(count: number): Range {
  return { from: dayAt(Date.now() - (count - 1) * DAY_MS), to: dayAt(Date.now()) };
}

/** Every day of a range, in order. */
export function daysOf({ from, to }: Range): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) days.push(dayAt(at));
  return days;
}

function dayAt(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

const PAGE = 100;
/** The maximum number of pages to read. A year of days has fewer rows; models and keys are cut off there. */
const MAX_PAGES = 10;

function usagePath(appId: string, by: UsageBy, { from, to }: Range): string {
  return inApp(appId, `/usage?${new URLSearchParams({ by, from, to }).toString()}`);
}

/** All rows of the use in a range. */
async function readAll(path: string, signal?: AbortSignal): Promise<Usage> {
  let all: Usage | undefined;
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const more: Record<string, string> = cursor === undefined ? {} : { cursor };
    const query = new URLSearchParams({ limit: String(PAGE), ...more }).toString();
    const page: Usage = await read<Usage>(`${path}&${query}`, signal);
    all = all === undefined ? page : { ...page, usage: [...all.usage, ...page.usage] };
    cursor = page.next_cursor;
    if (cursor === undefined) return all;
  }
  return all as Usage;
}

const BY_TEXTS: Readonly<Record<UsageBy, string>> = { day: 'Day', model: 'Model', key: 'Key' };
const RANGES = [7, 31, 90, 365];
/** More bars than this would be too narrow to distinguish; days are always all shown. */
const MAX_BARS = 12;

/** The account's usage by day, model or key, over a range of days. */
export function UsageCard({ appId, currency }: { readonly appId: string; readonly currency: string }) {
  const { by, range } = askedFor();
  const path = usagePath(appId, by, range);
  return (
    <Card id="usage" title="Usage" note="Of the whole account. Days are UTC days.">
      <RangePicker by={by} range={range} />
      <ShownUsage key={path} path={path} currency={currency} />
      <CsvButton path={path} filename={`usage-by-${by}-${range.from}-${range.to}.csv`} />
    </Card>
  );
}

function ShownUsage({ path, currency }: { readonly path: string; readonly currency: string }) {
  const usage = useData(path, { load: readAll });
  return (
    <Loaded data={usage} what="the usage">
      {(value) =>
        value.usage.length === 0 ? (
          <p class="empty">Nothing was used in this time.</p>
        ) : (
          <Plots usage={value} currency={currency} />
        )
      }
    </Loaded>
  );
}

/** The selection in the address, or the last month by day. */
function askedFor(): { readonly by: UsageBy; readonly range: Range } {
  const { query } = place.value;
  const usual = lastDays(USUAL_DAYS);
  return {
    by: USAGE_BY.find((one) => one === query['by']) ?? 'day',
    range: { from: query['from'] ?? usual.from, to: query['to'] ?? usual.to },
  };
}

function RangePicker({ by, range }: { readonly by: UsageBy; readonly range: Range }) {
  return (
    <div class="filters">
      <Choice
        label="By"
        value={by}
        none={null}
        among={USAGE_BY}
        text={(one) => BY_TEXTS[one]}
        changed={(chosen) => changeQuery({ by: chosen })}
      />
      <label>
        From
        <input
          type="date"
          value={range.from}
          max={range.to}
          onChange={({ currentTarget }) => changeQuery({ from: currentTarget.value, to: range.to })}
        />
      </label>
      <label>
        To
        <input
          type="date"
          value={range.to}
          min={range.from}
          onChange={({ currentTarget }) => changeQuery({ from: range.from, to: currentTarget.value })}
        />
      </label>
      <Choice
        label="Last days"
        value={RANGES.find((days) => lastDays(days).from === range.from && lastDays(days).to === range.to)}
        none="Other"
        among={RANGES}
        text={String}
        changed={(days) => {
          if (days !== '') changeQuery({ ...lastDays(Number(days)) });
        }}
      />
    </div>
  );
}

interface Bar {
  readonly name: string;
  readonly sums: UsageSums;
}

const NOTHING: UsageSums = {
  generations: 0,
  failed: 0,
  reserved_credits: 0,
  charged_credits: 0,
  released_credits: 0,
};

function Plots({ usage, currency }: { readonly usage: Usage; readonly currency: string }) {
  const { by } = usage;
  const rows = useMemo(() => rowsOf(usage), [usage]);
  const bars = useMemo(() => barsOf(usage, rows), [usage, rows]);
  const head = BY_TEXTS[by];
  const lower = head.toLowerCase();
  const parts = { head, rows, total: usage.total };
  return (
    <>
      {bars.length < rows.length && by !== 'day' ? (
        <p class="small muted">{`The plots show the ${MAX_BARS} that cost most; the tables show all.`}</p>
      ) : null}
      <h3>{`Credits by ${lower}`}</h3>
      <div class="plot-and-table">
        <Plot
          label={`Charged credits by ${lower}`}
          series={CHARGED}
          bars={bars.map(({ name, sums }) => ({ name, values: [sums.charged_credits] }))}
          unit={currency}
        />
        <SumsTable
          {...parts}
          caption={`Credits by ${lower}, in ${currency}`}
          columns={[
            ['Reserved', 'reserved_credits'],
            ['Charged', 'charged_credits'],
            ['Released', 'released_credits'],
          ]}
        />
      </div>
      <h3>{`Generations by ${lower}`}</h3>
      <div class="plot-and-table">
        <Plot
          label={`Generations by ${lower}`}
          series={OUTCOMES}
          bars={bars.map(({ name, sums }) => ({ name, values: [sums.generations - sums.failed, sums.failed] }))}
        />
        <SumsTable
          {...parts}
          caption={`Generations by ${lower}`}
          columns={[
            ['Generations', 'generations'],
            ['Failed', 'failed'],
          ]}
        />
      </div>
    </>
  );
}

function nameOf({ by }: Usage, row: UsageRow): string {
  if (by === 'day') return row.day === undefined ? '' : dayText(row.day);
  if (by === 'model') return row.model_key ?? 'not said';
  return row.credential_name ?? row.credential_id ?? 'not said';
}

function rowsOf(usage: Usage): readonly Bar[] {
  return usage.usage.map((row) => ({ name: nameOf(usage, row), sums: row }));
}

/** Every day of the range, also those without use; or what cost most. */
function barsOf({ by, from, to, usage }: Usage, rows: readonly Bar[]): readonly Bar[] {
  if (by !== 'day') return rows.toSorted((a, b) => b.sums.charged_credits - a.sums.charged_credits).slice(0, MAX_BARS);
  const byDay = new Map(usage.map((row) => [row.day, row]));
  return daysOf({ from, to }).map((day) => ({ name: dayText(day), sums: byDay.get(day) ?? NOTHING }));
}

const CHARGED: readonly Series[] = [{ name: 'Charged', look: 'series-1' }];
const OUTCOMES: readonly Series[] = [
  { name: 'Not failed', look: 'series-1' },
  { name: 'Failed', look: 'series-fail' },
];

interface SumsTableProps {
  readonly caption: string;
  readonly head: string;
  readonly rows: readonly Bar[];
  readonly total: UsageSums;
  readonly columns: readonly (readonly [title: string, of: keyof UsageSums])[];
}

/** The numbers of a plot. It scrolls by itself where it is long, which the keyboard can do too. */
function SumsTable({ caption, head, rows, total, columns }: SumsTableProps) {
  return (
    // What scrolls must be reachable without a pointer.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section class="scrolled" tabIndex={0} aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{head}</th>
            {columns.map(([title]) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, sums }, index) => (
            <tr key={`${name} ${index}`}>
              <th scope="row">{name}</th>
              {columns.map(([title, of]) => (
                <td key={title} class="number">
                  {numberText(sums[of])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            {columns.map(([title, of]) => (
              <td key={title} class="number">
                {numberText(total[of])}
              </td>
            ))}
          </tr>
        </tfoot>
      </table>
    </section>
  );
}

function CsvButton({ path, filename }: { readonly path: string; readonly filename: string }) {
  const save = async (): Promise<void> => {
    try {
      const response = await fetch(addressOf(path), { headers: { Accept: 'text/csv' }, cache: 'no-store' });
      if (!response.ok) throw new Error(`It was answered with ${response.status}.`);
      saveAs(await response.blob(), filename);
      announce('The usage was saved as CSV.');
    } catch {
      announce('The usage could not be saved. Try again.');
    }
  };
  return <ActionButton action={save}>Save as CSV</ActionButton>;
}
