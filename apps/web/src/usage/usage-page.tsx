import { useApps } from '../use-apps.js';
import { numberText } from '../format.js';
import { saveAs } from '../media/save-output.js';
import { ActionButton } from '../parts/buttons.js';
import { Segments, SelectFilter } from '../parts/fields.js';
import { FieldError } from '../parts/form.js';
import { Fault, Figures, Loaded, Page, type PageProps } from '../parts/parts.js';
import { announce } from '../parts/toasts.js';
import { changeQuery, place } from '../places.js';
import { addressOf, Explained } from '../server.js';
import { unitOf } from '../session.js';
import { Ledger } from './ledger.js';
import { UsageSums } from './usage-sums.js';
import { type By, dayAgo, type Range, usagePath } from './usage-data.js';

const USUAL_DAYS = 31;

/** The balance, the use over a range of days, and the ledger of the whole account. The address has the range. */
export function UsagePage({ overview: { account } }: PageProps) {
  const apps = useApps();
  const app = apps.value?.apps[0]?.id;
  const { query } = place.value;
  const by = BY.find(({ value }) => value === query['by'])?.value ?? 'day';
  const range = { from: query['from'] ?? dayAgo(USUAL_DAYS - 1), to: query['to'] ?? dayAgo(0) };
  const figure = (name: string, credits: number, note: string) => ({
    name,
    value: numberText(credits),
    unit: unitOf(credits),
    note,
  });
  return (
    <Page
      title="Usage"
      actions={
        app === undefined || account.is_suspended ? null : (
          <ActionButton action={() => saveCsv(app, by, range)} icon="download" isSmall={false}>
            <span class="wide-only">Save as </span>CSV
          </ActionButton>
        )
      }
    >
      <Figures
        figures={[
          figure('Available', account.available_credits, 'Can be spent now'),
          figure('Reserved', account.reserved_credits, 'For generations that have not ended'),
          figure('Charged', account.spent_credits, 'Since the account exists'),
        ]}
      />
      {account.is_suspended ? (
        <Fault text="This account is suspended. Usage and ledger can be read once the operator resumes it." />
      ) : (
        <Loaded data={apps} what="the usage">
          {() =>
            app === undefined ? null : (
              <>
                <RangePicker by={by} range={range} />
                {Date.parse(range.from) <= Date.parse(range.to) ? (
                  <UsageSums key={`${by} ${range.from} ${range.to}`} appId={app} by={by} range={range} />
                ) : (
                  <FieldError text="From and To must be days such as 2026-01-31, and From not after To." />
                )}
                <Ledger appId={app} />
              </>
            )
          }
        </Loaded>
      )}
    </Page>
  );
}

const BY = [
  { value: 'day', text: 'Day' },
  { value: 'model', text: 'Model' },
  { value: 'key', text: 'Key' },
  { value: 'modality', text: 'Media' },
] as const satisfies readonly { value: By; text: string }[];

const RANGES = ['7', '31', '90', '365'] as const;

function RangePicker({ by, range }: { by: By; range: Range }) {
  const rangeOf = (count: string): Range => ({ from: dayAgo(Number(count) - 1), to: dayAgo(0) });
  const isRange = ({ from, to }: Range): boolean => from === range.from && to === range.to;
  const dayField = (end: keyof Range, label: string, bounds: { min?: string; max?: string }) => (
    <label class="row small muted">
      {label}
      <input
        type="date"
        class="input"
        value={range[end]}
        {...bounds}
        onChange={({ currentTarget }) => changeQuery({ ...range, [end]: currentTarget.value })}
      />
    </label>
  );
  return (
    <div class="filters">
      <Segments
        label="By"
        value={by}
        options={BY}
        changed={(next) => changeQuery({ by: next === 'day' ? undefined : next })}
      />
      <SelectFilter
        label="Days"
        none="Other"
        value={RANGES.find((count) => isRange(rangeOf(count)))}
        among={RANGES}
        text={(count) => `last ${count}`}
        changed={(count) => count !== '' && changeQuery({ ...rangeOf(count) })}
      />
      {dayField('from', 'From', { max: range.to })}
      {dayField('to', 'To (UTC)', { min: range.from })}
    </div>
  );
}

async function saveCsv(appId: string, by: By, range: Range): Promise<void> {
  const address = addressOf(usagePath(appId, by, range));
  const answer = await fetch(address, { headers: { Accept: 'text/csv' }, cache: 'no-store' }).catch(() => undefined);
  if (answer?.ok !== true) throw new Explained('The usage could not be saved. Try again.');
  saveAs(await answer.blob(), `usage-by-${by}-${range.from}-${range.to}.csv`);
  announce('The usage is saved as CSV.');
}
