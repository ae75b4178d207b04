import { Download } from 'lucide-preact';
import { useApps } from '../apps/usable-apps.js';
import { numberText } from '../format.js';
import { saveAs } from '../media/save-output.js';
import { ActionButton } from '../parts/buttons.js';
import { Segments, SelectFilter } from '../parts/fields.js';
import { Fault, Figures, Loaded, Page, type PageProps } from '../parts/parts.js';
import { announce } from '../parts/toasts.js';
import { changeQuery, place } from '../places.js';
import { addressOf, Explained } from '../server.js';
import type { Overview } from '../server-types.js';
import { Ledger } from './ledger.js';
import { UsageSums } from './usage-sums.js';
import { BY, type By, dayAgo, type Range, usagePath } from './usage-data.js';

/** The balance, the use over a range of days, and the ledger of the whole account. */
export function UsagePage({ overview }: PageProps) {
  const apps = useApps();
  const { account } = overview;
  const app = apps.value?.apps[0]?.id;
  const { by, range } = askedFor();
  return (
    <Page
      title="Usage"
      actions={app === undefined || account.is_suspended ? null : <CsvButton appId={app} by={by} range={range} />}
    >
      <div class="stack">
        <Balance account={account} />
        {account.is_suspended ? (
          <Fault text="This account is suspended. Usage and ledger can be read once the operator resumes it." />
        ) : (
          <Loaded data={apps} what="the usage">
            {() =>
              app === undefined ? null : (
                <>
                  <RangePicker by={by} range={range} />
                  <UsageSums key={`${by} ${range.from} ${range.to}`} appId={app} by={by} range={range} />
                  <Ledger appId={app} />
                </>
              )
            }
          </Loaded>
        )}
      </div>
    </Page>
  );
}

function Balance({ account }: Pick<Overview, 'account'>) {
  const { currency } = account;
  return (
    <Figures
      figures={[
        { name: 'Available', value: numberText(account.available_credits), unit: currency, note: 'Can be spent now' },
        {
          name: 'Reserved',
          value: numberText(account.reserved_credits),
          unit: currency,
          note: 'For generations that have not ended',
        },
        { name: 'Charged', value: numberText(account.spent_credits), unit: currency, note: 'Since the account exists' },
      ]}
    />
  );
}

const USUAL_DAYS = 31;
const RANGES = ['7', '31', '90', '365'] as const;

/** The selection in the address, or the last month by day. */
function askedFor(): { readonly by: By; readonly range: Range } {
  const { query } = place.value;
  return {
    by: BY.find((one) => one === query['by']) ?? 'day',
    range: { from: query['from'] ?? dayAgo(USUAL_DAYS - 1), to: query['to'] ?? dayAgo(0) },
  };
}

const BY_TEXTS: Readonly<Record<By, string>> = { day: 'Day', model: 'Model', key: 'Key', modality: 'Media' };

function RangePicker({ by, range }: { readonly by: By; readonly range: Range }) {
  const days = RANGES.find((count) => range.from === dayAgo(Number(count) - 1) && range.to === dayAgo(0));
  return (
    <div class="filters">
      <Segments
        label="By"
        value={by}
        options={BY.map((one) => ({ value: one, text: BY_TEXTS[one] }))}
        changed={(next) => changeQuery({ by: next === 'day' ? undefined : next })}
      />
      <SelectFilter
        label="Days"
        none="Other"
        value={days}
        among={RANGES}
        text={(count) => `last ${count}`}
        changed={(count) => {
          if (count !== '') changeQuery({ from: dayAgo(Number(count) - 1), to: dayAgo(0) });
        }}
      />
      <input
        type="date"
        class="input"
        aria-label="From, UTC"
        value={range.from}
        max={range.to}
        onChange={({ currentTarget }) => changeQuery({ from: currentTarget.value, to: range.to })}
      />
      <input
        type="date"
        class="input"
        aria-label="To, UTC"
        value={range.to}
        min={range.from}
        onChange={({ currentTarget }) => changeQuery({ from: range.from, to: currentTarget.value })}
      />
    </div>
  );
}

interface CsvButtonProps {
  readonly appId: string;
  readonly by: By;
  readonly range: Range;
}

function CsvButton({ appId, by, range }: CsvButtonProps) {
  const save = async (): Promise<void> => {
    const address = addressOf(usagePath(appId, by, range));
    const response = await fetch(address, { headers: { Accept: 'text/csv' }, cache: 'no-store' }).catch(
      () => undefined,
    );
    if (response?.ok !== true) throw new Explained('The usage could not be saved. Try again.');
    saveAs(await response.blob(), `usage-by-${by}-${range.from}-${range.to}.csv`);
    announce('The usage is saved as CSV.');
  };
  return (
    <ActionButton action={save} icon={Download} isSmall={false}>
      <span class="wide-only">Save as </span>CSV
    </ActionButton>
  );
}
